//! Rules in CEL.

use std::{collections::HashMap, sync::Arc};

use cel::{Context, Value as Cel, extractors::This, objects::Key};
use serde_json::Value;

/// A rule's expression, compiled.
pub struct Program(cel::Program);

impl Program {
    /// Compiles an expression.
    pub fn new(expression: &str) -> Self {
        Self(
            cel::Program::compile(expression)
                .unwrap_or_else(|error| panic!("{expression}: {error}")),
        )
    }

    /// Whether the rule holds. `old` is what is stored, where something is.
    pub fn holds(&self, new: &Value, old: Option<&Value>) -> bool {
        let mut context = Context::default();
        context.add_function("split", split).unwrap();
        context.add_function("sum", sum).unwrap();
        context.add_function("isIP", is_ip).unwrap();
        context.add_variable_from_value("self", convert(new));
        if let Some(old) = old {
            context.add_variable_from_value("oldSelf", convert(old));
        }
        match self.0.execute(&context) {
            Ok(Cel::Bool(holds)) => holds,
            other => panic!("a rule gives {other:?}"),
        }
    }
}

/// Checks every rule of a schema.
pub fn check(schema: &Value, new: &Value, old: Option<&Value>, refusals: &mut Vec<String>) {
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let expression = rule["rule"].as_str().unwrap();
        let program = Program::new(expression);
        let applies = old.is_some() || !expression.contains("oldSelf");
        if applies && !program.holds(new, old) {
            refusals.push(rule["message"].as_str().unwrap().to_owned());
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(field) = new.get(name) {
            check(property, field, old.and_then(|old| old.get(name)), refusals);
        }
    }
    if let (Some(values), Value::Object(fields)) = (schema.get("additionalProperties"), new) {
        for (name, field) in fields {
            check(values, field, old.and_then(|old| old.get(name)), refusals);
        }
    }
    // Items of a list have no old selves: the API server can't tell which was which.
    for item in new.as_array().into_iter().flatten() {
        check(&schema["items"], item, None, refusals);
    }
}

fn convert(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Cel::Int(number),
            None => Cel::Float(number.as_f64().unwrap()),
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

/// Kubernetes' `sum`, which CEL itself lacks.
fn sum(This(numbers): This<Arc<Vec<Cel>>>) -> i64 {
    let number = |value: &Cel| match value {
        Cel::Int(number) => *number,
        other => panic!("sum of {other:?}"),
    };
    numbers.iter().map(number).sum()
}

/// Kubernetes' `isIP`, which CEL itself lacks.
fn is_ip(text: Arc<String>) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}
