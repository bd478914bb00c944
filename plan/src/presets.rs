//! The inputs that Compositions give the function, checked as the kinds in the function's package say.

use std::sync::LazyLock;

use c5c3_admission::{Problem, Validator, defaulted};
use function_c5c3::input::definitions;
use serde_json::Value;

static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(definitions);

/// Whether a document is an input of the function.
pub fn is_input(document: &Value) -> bool {
    definition(document).is_some()
}

/// Every problem of the inputs in a document, which is an input or a Composition, each with what it is in.
pub fn problems(validator: &mut Validator, document: &Value) -> Vec<String> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let problems = of_input(validator, document, "").into_iter();
    let mut lines: Vec<String> = problems
        .map(|problem| format!("{kind}: {problem}"))
        .collect();
    let name = document["metadata"]["name"].as_str().unwrap_or_default();
    let steps = document["spec"]["pipeline"].as_array();
    for (index, step) in steps.into_iter().flatten().enumerate() {
        let path = format!("spec.pipeline[{index}].input");
        let problems = of_input(validator, &step["input"], &path).into_iter();
        lines.extend(problems.map(|problem| format!("{kind} {name}: {problem}")));
    }
    lines
}

/// Every problem of an input at a path. What isn't an input has none.
fn of_input(validator: &mut Validator, input: &Value, path: &str) -> Vec<Problem> {
    let Some(definition) = definition(input) else {
        return Vec::new();
    };
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut problems = validator.problems(schema, &defaulted(schema, input.clone()), None);
    for problem in &mut problems {
        problem.path = match (path, problem.path.as_str()) {
            ("", inner) => inner.to_owned(),
            (outer, "") => outer.to_owned(),
            (outer, inner) => format!("{outer}.{inner}"),
        };
    }
    problems
}

/// The definition of an input's kind.
fn definition(input: &Value) -> Option<&'static Value> {
    DEFINITIONS.iter().find(|definition| {
        let spec = &definition["spec"];
        let group = spec["group"].as_str().unwrap_or_default();
        let version = spec["versions"][0]["name"].as_str().unwrap_or_default();
        spec["names"]["kind"] == input["kind"]
            && input["apiVersion"] == format!("{group}/{version}")
    })
}
