//! How much each project of a control plane may have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::parts::ExtraConfig;

/// What a service counts for each project.
struct Counts {
    service: &'static str,
    /// The section of its options.
    section: &'static str,
    /// Fields, the options that they set, and what is counted.
    quotas: &'static [(&'static str, &'static str, &'static str)],
    /// The option, with its value, without which the service doesn't read those.
    condition: Option<(&'static str, &'static str)>,
}

/// nova/conf/quota.py, cinder/quota.py and neutron/conf/quota.py.
const COUNTS: [Counts; 3] = [
    Counts {
        service: "nova",
        section: "quota",
        quotas: &[
            ("servers", "instances", "Servers"),
            ("vcpus", "cores", "Virtual processors of servers"),
            ("ramMB", "ram", "Memory of servers, in MB (2^20 bytes)"),
            ("serverGroups", "server_groups", "Server groups"),
            (
                "serverGroupMembers",
                "server_group_members",
                "Servers in each server group",
            ),
        ],
        condition: None,
    },
    Counts {
        service: "cinder",
        section: "DEFAULT",
        quotas: &[
            ("volumes", "quota_volumes", "Volumes"),
            (
                "volumesGB",
                "quota_gigabytes",
                "Volumes and their snapshots, in GB (2^30 bytes)",
            ),
            ("snapshots", "quota_snapshots", "Snapshots of volumes"),
            ("backups", "quota_backups", "Backups of volumes"),
            (
                "backupsGB",
                "quota_backup_gigabytes",
                "Backups of volumes, in GB (2^30 bytes)",
            ),
        ],
        // Otherwise defaults are those that its options had when its database was created (`DbQuotaDriver.get_defaults`).
        condition: Some(("use_default_quota_class", "false")),
    },
    Counts {
        service: "neutron",
        section: "quotas",
        quotas: &[
            ("networks", "quota_network", "Networks"),
            ("subnets", "quota_subnet", "Subnets"),
            (
                "ports",
                "quota_port",
                "Ports, of which each server has one or more",
            ),
            ("routers", "quota_router", "Routers"),
            ("floatingIPs", "quota_floatingip", "Floating IPs"),
            ("securityGroups", "quota_security_group", "Security groups"),
            (
                "securityGroupRules",
                "quota_security_group_rule",
                "Rules of all security groups together",
            ),
        ],
        condition: None,
    },
];

/// The quota that is no limit.
const NO_LIMIT: i32 = -1;

/// The most of each that a project may have, by what is counted; -1 is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quotas(BTreeMap<String, i32>);

impl Quotas {
    /// These, and those of others where these say nothing.
    #[must_use]
    pub fn or(&self, others: &Self) -> Self {
        let mut all = others.0.clone();
        all.extend(self.0.clone());
        Self(all)
    }

    /// The first that is lower than no limit, with its field: the API server refuses it.
    pub fn too_low(&self) -> Option<(&str, i32)> {
        let mut all = self.0.iter();
        let low = all.find(|(_, most)| **most < NO_LIMIT);
        low.map(|(field, most)| (field.as_str(), *most))
    }

    /// The options of a service, by its name, that set what the service counts.
    pub fn options_of(&self, service: &str) -> ExtraConfig {
        let Some(counts) = COUNTS.iter().find(|counts| counts.service == service) else {
            return ExtraConfig::default();
        };
        let said = counts.quotas.iter().filter_map(|(field, option, _)| {
            let most = self.0.get(*field)?;
            Some(((*option).to_owned(), most.to_string()))
        });
        let mut options: BTreeMap<String, String> = said.collect();
        if options.is_empty() {
            return ExtraConfig::default();
        }
        let condition = counts.condition.into_iter();
        options.extend(condition.map(|(option, value)| (option.to_owned(), value.to_owned())));
        ExtraConfig([(counts.section.to_owned(), options)].into())
    }
}

impl JsonSchema for Quotas {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quotas".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let quotas = COUNTS.iter().flat_map(|counts| counts.quotas);
        let properties: serde_json::Map<String, Value> = quotas
            .map(|(field, _, what)| {
                let schema = json!({
                    "description": format!("{what}."),
                    "type": "integer",
                    "format": "int32",
                    "minimum": NO_LIMIT,
                    "maximum": i32::MAX,
                });
                ((*field).to_owned(), schema)
            })
            .collect();
        schemars::json_schema!({ "type": "object", "properties": properties })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(said: &Value) -> Quotas {
        Quotas::deserialize(said).unwrap()
    }

    fn options(said: &Value, service: &str) -> Value {
        serde_json::to_value(quotas(said).options_of(service)).unwrap()
    }

    #[test]
    fn quotas_become_options_of_the_service_that_counts() {
        let said = json!({ "servers": 50, "ramMB": -1, "ports": 0 });
        assert_eq!(
            options(&said, "nova"),
            json!({ "quota": { "instances": "50", "ram": "-1" } })
        );
        assert_eq!(
            options(&said, "neutron"),
            json!({ "quotas": { "quota_port": "0" } })
        );
        for service in ["cinder", "glance"] {
            assert_eq!(options(&said, service), json!({}), "{service}");
        }
    }

    #[test]
    fn quotas_of_volumes_have_cinder_read_its_options() {
        assert_eq!(
            options(&json!({ "volumesGB": 5000 }), "cinder"),
            json!({ "DEFAULT": { "quota_gigabytes": "5000", "use_default_quota_class": "false" } })
        );
    }

    #[test]
    fn quotas_that_are_lower_than_no_limit_are_found() {
        let said = quotas(&json!({ "servers": -1, "vcpus": -2, "volumes": 0 }));
        assert_eq!(said.too_low(), Some(("vcpus", -2)));
        assert_eq!(quotas(&json!({ "servers": -1 })).too_low(), None);
    }

    #[test]
    fn quotas_win_over_others_one_by_one() {
        let own = quotas(&json!({ "servers": 5, "volumes": 1 }));
        let others = quotas(&json!({ "servers": 50, "routers": 3 }));
        let both = json!({ "servers": 5, "volumes": 1, "routers": 3 });
        assert_eq!(own.or(&others), quotas(&both));
    }
}
