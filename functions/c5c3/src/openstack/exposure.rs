//! How clients outside the cluster reach a claim's APIs: under the site's domain.

use c5c3_api::control_plane::{ControlPlaneServices, Overrides};
use c5c3_api::parts::Exposure;
use function_protocol::Fatal;

use super::Recipe;

/// Stands in a domain for the name of the control plane cluster.
const CLUSTER: &str = "{controlPlaneCluster}";

impl Recipe<'_> {
    /// Gives the API of every service a host name of this claim's own, `<service>.<claim>.<domain>`, where the site has a domain.
    ///
    /// # Errors
    /// The Composition's input names one host for all claims, no domain, or not exactly one way.
    pub fn expose(&self, services: &mut ControlPlaneServices) -> Result<(), Fatal> {
        let site = self.presets.exposure.as_ref();
        let base = match site {
            Some(site) => {
                let cluster = self.site.control_plane.name.name();
                let domain = site.domain.replace(CLUSTER, cluster);
                let base = format!("{}.{domain}", self.names.control_plane());
                let is_one_way = site.gateway.is_some() != site.ingress.is_some();
                if !is_one_way || !is_domain(&base) {
                    return Err(Fatal::new(format!(
                        "exposure of the Composition's input needs a domain, here {:?}, and either gateway or ingress",
                        site.domain
                    )));
                }
                base
            }
            None => String::new(),
        };
        for (name, overrides) in all(services) {
            if overrides.expose.is_some() {
                return Err(Fatal::new(format!(
                    "the Composition's input sets services.{name}.expose, one host name for all claims: remove it, and set \
                     exposure instead"
                )));
            }
            overrides.expose = site.map(|site| Exposure {
                hostname: format!("{name}.{base}"),
                gateway: site.gateway.clone(),
                ingress: site.ingress.clone(),
            });
        }
        Ok(())
    }
}

/// The services that have an API, by the first label of its host name.
fn all(services: &mut ControlPlaneServices) -> [(&'static str, &mut Overrides); 6] {
    [
        ("keystone", &mut services.keystone.service.overrides),
        ("glance", &mut services.glance.service.overrides),
        ("placement", &mut services.placement.overrides),
        ("nova", &mut services.nova.overrides),
        ("neutron", &mut services.neutron.overrides),
        ("cinder", &mut services.cinder.overrides),
    ]
}

/// Whether a text is a domain below which the services' names fit.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let ends = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len()) && ends && label.bytes().all(is_plain)
    };
    text.len() <= 240 && text.split('.').all(is_label)
}
