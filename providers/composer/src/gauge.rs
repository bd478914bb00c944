//! Gauges: numbers of what a composer observes.

/// The name of a gauge and what it is, as Prometheus shows both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// The name, for instance `ovn_chassis`.
    pub name: &'static str,
    /// A sentence with a full stop.
    pub help: &'static str,
}

/// One number of a subject. The runtime adds the label `resource` with namespace and name of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// What it is.
    pub metric: Metric,
    /// Further labels.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: i64,
}

impl Gauge {
    /// A number with these labels.
    pub fn new(metric: Metric, labels: &[(&'static str, &str)], value: i64) -> Self {
        let labels = labels.iter();
        Self {
            metric,
            labels: labels
                .map(|&(label, value)| (label, value.to_owned()))
                .collect(),
            value,
        }
    }
}
