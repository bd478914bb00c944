//! Rules of oslo.policy that override a service's defaults.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::parts::PolicyOverrides;
use k8s_openapi::api::core::v1::ConfigMap;
use provider_composer::{Failure, Lookup, Progress, Reason};

use crate::config::Config;
use crate::files::Files;
use crate::options::Options;
use crate::prerequisite::Prerequisite;
use crate::service::Service;

/// The file with the rules, and the key of the ConfigMap.
const FILE: &str = "policy.yaml";

/// Rules that override a service's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: BTreeMap<String, String>,
}

impl Policy {
    /// Resolves the rules of a resource and of its ConfigMap. The resource's rules are validated even while the ConfigMap doesn't
    /// exist.
    ///
    /// # Errors
    /// A rule isn't valid. oslo.policy would deny everything that the rule decides.
    pub fn resolve(service: &Service<'_>) -> Result<Prerequisite<Self>, Failure> {
        let Some(overrides) = &service.common.policy_overrides else {
            return Ok(Ok(Self::default()));
        };
        let (mut rules, pending) = match given(service, overrides)? {
            Ok(rules) => (rules, None),
            Err(pending) => (BTreeMap::new(), Some(pending)),
        };
        rules.extend(overrides.rules.clone());
        for (name, rule) in &rules {
            check(rule).map_err(|error| {
                invalid(format!(
                    "the policy rule {name} can't be understood: {error} in {rule:?}"
                ))
            })?;
        }
        circle(&rules)?;
        if let Some(pending) = pending {
            return Ok(Err(pending));
        }
        if let Some(known) = Options::of(service.definition.name, service.release)
            && service.common.image.fork.is_none()
        {
            names(&rules, &known)?;
        }
        Ok(Ok(Self { rules }))
    }

    /// Overrides a rule of the service, unless the resource does.
    pub fn restrict(&mut self, name: &str, rule: &str) {
        let rules = self.rules.entry(name.to_owned());
        rules.or_insert_with(|| rule.to_owned());
    }

    /// Configures a service to use these rules.
    pub fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        if self.rules.is_empty() {
            return;
        }
        let rules = self.rules.iter();
        let lines = rules.map(|(name, rule)| format!("{}: {}\n", quoted(name), quoted(rule)));
        files.text(FILE, lines.collect::<String>());
        config
            .section("oslo_policy")
            .set("policy_file", service.definition.file(FILE));
    }
}

fn given(
    service: &Service<'_>,
    overrides: &PolicyOverrides,
) -> Result<Prerequisite<BTreeMap<String, String>>, Failure> {
    let Some(reference) = &overrides.config_map_ref else {
        return Ok(Ok(BTreeMap::new()));
    };
    let name = &reference.name;
    let map = match service.body::<ConfigMap>(name) {
        Lookup::Found(map) => map,
        Lookup::Missing => {
            return Ok(Err(Progress::waiting(
                Reason::WaitingFor("Policy"),
                format!("waits for ConfigMap {name} with policies"),
            )));
        }
        Lookup::Unknown(message) => return Ok(Err(Progress::Unknown { message })),
    };
    let text = map.data.unwrap_or_default().remove(FILE);
    let text = text.ok_or_else(|| {
        invalid(format!(
            "ConfigMap {name} has no key {FILE}: put the rules there"
        ))
    })?;
    let rules = serde_saphyr::from_str(&text).map_err(|error| {
        invalid(format!(
            "{FILE} in ConfigMap {name} is not valid YAML of rules, each a name and a text: {error}"
        ))
    })?;
    Ok(Ok(rules))
}

/// Checks that each rule is one of the service's or is referred to by another rule, and that each reference has a rule.
/// oslo.policy would deny without an error message.
fn names(rules: &BTreeMap<String, String>, known: &Options) -> Result<(), Failure> {
    let referred: BTreeSet<&str> = rules.values().flat_map(|rule| references(rule)).collect();
    for (name, rule) in rules {
        if !referred.contains(name.as_str()) {
            known.rule(name).map_err(|unknown| {
                invalid(format!("the policies have a rule {name}, and {unknown}"))
            })?;
        }
        for other in references(rule).filter(|other| !rules.contains_key(*other)) {
            known.rule(other).map_err(|unknown| {
                invalid(format!(
                    "the policy rule {name} refers to {other}, and {unknown}"
                ))
            })?;
        }
    }
    Ok(())
}

/// Checks that no rule refers to itself, over others or not: nothing that it decides would be answered.
fn circle(rules: &BTreeMap<String, String>) -> Result<(), Failure> {
    for name in rules.keys() {
        let (mut next, mut seen) = (vec![name.as_str()], BTreeSet::new());
        while let Some(rule) = next.pop() {
            let others = rules.get(rule).into_iter();
            for other in others.flat_map(|rule| references(rule)) {
                if other == name {
                    return Err(invalid(format!(
                        "the policy rule {name} refers to itself: break the circle"
                    )));
                }
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
    }
    Ok(())
}

/// The rules that a rule refers to.
fn references(rule: &str) -> impl Iterator<Item = &str> {
    let checks = rule.split_whitespace();
    checks.filter_map(|check| {
        check
            .trim_start_matches('(')
            .trim_end_matches(')')
            .strip_prefix("rule:")
    })
}

fn invalid(message: String) -> Failure {
    Failure::new(Reason::InvalidPolicy, message)
}

/// Quotes a text as JSON, which is valid YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The expected next token of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A check, `not` or an opening parenthesis.
    Check,
    /// `and`, `or` or a closing parenthesis.
    Operator,
}

/// Checks the syntax of a rule
/// (<https://docs.openstack.org/oslo.policy/latest/reference/api/oslo_policy.policy.html>).
fn check(rule: &str) -> Result<(), String> {
    if rule.is_empty() {
        return Ok(());
    }
    let (mut next, mut open) = (Next::Check, 0_usize);
    for word in rule.split_whitespace() {
        let inner = word.trim_start_matches('(');
        let opened = word.len() - inner.len();
        if opened > 0 && next == Next::Operator {
            return Err("a parenthesis opens where \"and\" or \"or\" is missing".to_owned());
        }
        open += opened;
        let bare = inner.trim_end_matches(')');
        // The parentheses of %(project_id)s are never at the end of a token.
        let closed = inner.len() - bare.len();
        match bare.to_ascii_lowercase().as_str() {
            "" => {}
            "and" | "or" if next == Next::Check => {
                return Err(format!("{bare:?} stands without a check before it"));
            }
            "and" | "or" => next = Next::Check,
            "not" if next == Next::Operator => {
                return Err("\"not\" stands where \"and\" or \"or\" is missing".to_owned());
            }
            "not" => {}
            _ if next == Next::Operator => {
                return Err(format!("\"and\" or \"or\" is missing before {bare:?}"));
            }
            _ => {
                is_check(bare)?;
                next = Next::Operator;
            }
        }
        if closed > 0 && next == Next::Check {
            return Err("a parenthesis closes where a check is missing".to_owned());
        }
        open = open
            .checked_sub(closed)
            .ok_or("a parenthesis closes that never opened")?;
    }
    match (next, open) {
        (Next::Check, _) => Err("a check is missing at the end".to_owned()),
        (_, 0) => Ok(()),
        _ => Err("a parenthesis never closes".to_owned()),
    }
}

fn is_check(text: &str) -> Result<(), String> {
    match text.split_once(':') {
        _ if text == "@" || text == "!" => Ok(()),
        Some((kind, what)) if !kind.is_empty() && !what.is_empty() => Ok(()),
        _ => Err(format!(
            "{text:?} is not a valid check: write for instance role:admin"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("")]
    #[case("@")]
    #[case("!")]
    #[case("role:admin")]
    #[case("rule:admin_required or (role:reader and project_id:%(project_id)s)")]
    #[case("not role:reader AND (@)")]
    #[case("((role:a))")]
    #[case("'member':%(role.name)s")]
    fn rules_that_are_understood(#[case] rule: &str) {
        assert_eq!(check(rule), Ok(()));
    }

    #[rstest::rstest]
    #[case(
        "admin",
        "\"admin\" is not a valid check: write for instance role:admin"
    )]
    #[case(
        "role:admin role:reader",
        "\"and\" or \"or\" is missing before \"role:reader\""
    )]
    #[case("role:admin or", "a check is missing at the end")]
    #[case("and role:admin", "\"and\" stands without a check before it")]
    #[case("(role:admin", "a parenthesis never closes")]
    #[case("role:admin)", "a parenthesis closes that never opened")]
    #[case("(role:admin and )", "a parenthesis closes where a check is missing")]
    #[case(
        "role:admin (role:a)",
        "a parenthesis opens where \"and\" or \"or\" is missing"
    )]
    #[case(
        "role:",
        "\"role:\" is not a valid check: write for instance role:admin"
    )]
    #[case(" ", "a check is missing at the end")]
    fn rules_that_are_not(#[case] rule: &str, #[case] error: &str) {
        assert_eq!(check(rule), Err(error.to_owned()));
    }
}
