//! Rules in CEL.

use std::{collections::HashMap, sync::Arc};

use cel::{
    Context, Env, ExecutionError, Value as Cel,
    extractors::This,
    objects::{Key, OptionalValue},
};
use ipnet::IpNet;
use serde_json::Value;

use crate::{Problem, Validator, within};

/// A rule's expression, compiled.
pub struct Program(cel::Program);

/// The stored value, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub enum Old<'a> {
    /// The rule doesn't see it.
    None,
    /// The value.
    Stored(&'a Value),
    /// The value where there is one, of a rule with `optionalOldSelf`.
    Optional(Option<&'a Value>),
}

impl Program {
    /// Compiles an expression; nothing where it is no CEL.
    pub fn new(expression: &str) -> Option<Self> {
        Env::stdlib().compile(expression).ok().map(Self)
    }

    /// Whether the rule holds. One that can't be evaluated doesn't, as in the API server.
    pub fn holds(&self, new: &Value, old: Old<'_>) -> bool {
        let mut context = Context::default();
        context.add_variable_from_value("self", convert(new));
        match old {
            Old::None => {}
            Old::Stored(old) => context.add_variable_from_value("oldSelf", convert(old)),
            Old::Optional(old) => {
                let old =
                    old.map_or_else(OptionalValue::none, |old| OptionalValue::of(convert(old)));
                context.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(old)));
            }
        }
        let known = context.add_function("split", split).is_ok()
            && context.add_function("sum", sum).is_ok()
            && context.add_function("isIP", is_ip).is_ok()
            && context.add_function("cidr", cidr).is_ok()
            && context.add_function("containsCIDR", contains_cidr).is_ok()
            && context.add_function("prefixLength", prefix_length).is_ok();
        known && matches!(self.0.execute(&context), Ok(Cel::Bool(true)))
    }
}

impl Validator {
    /// Checks every rule of a schema.
    pub(crate) fn rules(
        &mut self,
        schema: &Value,
        new: &Value,
        old: Option<&Value>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        for rule in schema["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let expression = rule["rule"].as_str().unwrap_or_default();
            let old = match old {
                old if rule["optionalOldSelf"] == true => Old::Optional(old),
                Some(old) => Old::Stored(old),
                None if expression.contains("oldSelf") => continue,
                None => Old::None,
            };
            if !self.holds(expression, new, old) {
                problems.push(Problem {
                    path: path.to_owned(),
                    message: rule["message"].as_str().unwrap_or(expression).to_owned(),
                });
            }
        }
        for (name, field) in new.as_object().into_iter().flatten() {
            let property = schema["properties"].get(name);
            if let Some(property) = property.or_else(|| schema.get("additionalProperties")) {
                let old = old.and_then(|old| old.get(name));
                self.rules(property, field, old, &within(path, name), problems);
            }
        }
        // Items of a list have no old selves: the API server can't tell which was which.
        for (index, item) in new.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}[{index}]");
            self.rules(&schema["items"], item, None, &path, problems);
        }
    }

    fn holds(&mut self, expression: &str, new: &Value, old: Old<'_>) -> bool {
        if !self.programs.contains_key(expression) {
            let program = Program::new(expression);
            self.programs.insert(expression.to_owned(), program);
        }
        let program = self.programs.get(expression).and_then(Option::as_ref);
        program.is_some_and(|program| program.holds(new, old))
    }
}

fn convert(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Cel::Int(number),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(convert).collect())),
        Value::Object(fields) => {
            let map: HashMap<Key, Cel> = fields
                .iter()
                .map(|(name, field)| (Key::from(name.as_str()), convert(field)))
                .collect();
            Cel::Map(map.into())
        }
    }
}

/// Kubernetes' `split`, which CEL itself lacks.
fn split(This(text): This<Arc<String>>, separator: Arc<String>) -> Cel {
    let parts = text
        .split(separator.as_str())
        .map(|part| Cel::String(Arc::new(part.to_owned())));
    Cel::List(Arc::new(parts.collect()))
}

/// Kubernetes' `sum`, which CEL itself lacks; null for a list of anything but integers.
fn sum(This(numbers): This<Arc<Vec<Cel>>>) -> Cel {
    let sum = numbers.iter().try_fold(0_i64, |sum, value| match value {
        Cel::Int(number) => sum.checked_add(*number),
        _ => None,
    });
    sum.map_or(Cel::Null, Cel::Int)
}

/// Kubernetes' `isIP`, which CEL itself lacks.
fn is_ip(text: Arc<String>) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// Kubernetes' `cidr`, which CEL itself lacks. Returns the text itself, since ranges have no type here.
fn cidr(text: Arc<String>) -> Result<Arc<String>, ExecutionError> {
    parse("cidr", &text).map(|_| text)
}

/// Kubernetes' `containsCIDR`, which CEL itself lacks.
fn contains_cidr(
    This(range): This<Arc<String>>,
    other: Arc<String>,
) -> Result<bool, ExecutionError> {
    const NAME: &str = "containsCIDR";
    Ok(parse(NAME, &range)?.contains(&parse(NAME, &other)?))
}

/// Kubernetes' `prefixLength`, which CEL itself lacks.
fn prefix_length(This(range): This<Arc<String>>) -> Result<i64, ExecutionError> {
    Ok(parse("prefixLength", &range)?.prefix_len().into())
}

fn parse(function: &str, text: &str) -> Result<IpNet, ExecutionError> {
    text.parse()
        .map_err(|_| ExecutionError::function_error(function, "not a range of addresses"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_use_the_functions_of_kubernetes_and_fail_where_they_cannot_be_evaluated() {
        let holds = |expression| {
            let value =
                json!({ "a": "1-2", "b": [1, 2], "c": ["x"], "ip": "::1", "range": "10.0.0.0/8" });
            Program::new(expression).map(|program| program.holds(&value, Old::None))
        };
        for (expression, expected) in [
            (
                "int(self.a.split('-')[1]) == 2 && self.b.sum() == 3 && isIP(self.ip)",
                Some(true),
            ),
            (
                "cidr(self.range).containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(self.range)",
                Some(true),
            ),
            ("cidr(self.range).prefixLength() == 8", Some(true)),
            ("cidr(self.a).prefixLength() == 8", Some(false)),
            ("self.c.sum() == 1", Some(false)),
            ("self.a.split('-')[2] == ''", Some(false)),
            ("self.missing == 1", Some(false)),
            ("self.a", Some(false)),
            ("self.a ==", None),
        ] {
            assert_eq!(holds(expression), expected, "{expression}");
        }
    }

    #[test]
    fn rule_with_an_optional_old_value_is_checked_of_new_resources_too() {
        let rule =
            Program::new("self.?size == oldSelf.?size || self.size <= oldSelf.?size.orValue(1)");
        let rule = rule.expect("is CEL");
        let of = |size: u32| json!({ "size": size });
        for (new, old, expected) in [
            (of(1), None, true),
            (of(2), None, false),
            (of(2), Some(of(2)), true),
            (of(2), Some(of(3)), true),
            (of(3), Some(of(2)), false),
            (json!({}), None, true),
        ] {
            assert_eq!(
                rule.holds(&new, Old::Optional(old.as_ref())),
                expected,
                "{new} {old:?}"
            );
        }
    }
}
