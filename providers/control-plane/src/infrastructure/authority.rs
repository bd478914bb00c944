//! The certificate authority of a control plane, for names within the cluster.

use c5c3_api::ovn_cluster::ISSUER_EXCLUSIVE;
use c5c3_api::parts::IssuerRef;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{Conditions, DesiredState, Key, Lookup, Progress, Reason};
use provider_openstack::CertificateAuthority;

use super::Sizes;
use crate::node_state::NodeState;
use crate::recipe::Recipe;

/// The authority: its Issuer, its Certificate, and the Secret with both certificate and key.
const AUTHORITY: &str = "openstack-ca";
/// The Issuer of the authority's own certificate.
const ROOT: &str = "openstack-ca-root";

impl Recipe<'_> {
    /// The issuer of certificates for names within the cluster: the one given, else the control plane's own authority. None
    /// where each service has its Secret from elsewhere.
    pub(crate) fn internal_issuer(&self) -> Option<IssuerRef> {
        let tls = &self.spec().global.tls;
        let own = tls.issuer_ref.as_ref();
        let own = own.map(|_| IssuerRef::issuer(AUTHORITY));
        let issuer = tls.internal_issuer_ref.clone().or(own);
        issuer.filter(|_| tls.enabled)
    }

    /// The issuer of OVN's certificates over that of the OVNCluster that exists. OVSDB takes every certificate of that issuer for a client
    /// that may change everything, and a ClusterIssuer signs for others, too: a new OVNCluster has the control plane's own authority
    /// instead. One that has a ClusterIssuer keeps one, because its clients can't connect with certificates of another authority. None
    /// where the control plane has no OVNCluster, or creates no certificates for it.
    ///
    /// # Errors
    /// The OVNCluster can't be read, and its issuer must stay as it is.
    pub(super) fn ovn_issuer(
        &self,
        state: Option<&NodeState>,
    ) -> Result<Option<IssuerRef>, String> {
        let Some(state) = state.filter(|state| !state.is_taken) else {
            return Ok(None);
        };
        let Some(internal) = self.internal_issuer() else {
            return Ok(None);
        };
        let has_shared = state.text("/spec/tls/issuerRef/kind") == Some("ClusterIssuer");
        match &state.object {
            _ if !internal.is_shared() => Ok(Some(internal)),
            Lookup::Unknown(why) => Err(why.clone()),
            Lookup::Found(_) if has_shared => Ok(Some(internal)),
            Lookup::Found(_) | Lookup::Missing => Ok(Some(IssuerRef::issuer(AUTHORITY))),
        }
    }

    /// Reports an issuer that signs for others besides OVN, and how to replace it.
    pub(crate) fn report_ovn_issuer(&self, sizes: &Sizes, conditions: &mut Conditions) {
        let namespace = self.namespace();
        let progress = match &sizes.ovn_issuer {
            Ok(Some(issuer)) if issuer.is_shared() => Progress::failed(
                Reason::IssuerShared,
                format!(
                    "every certificate of ClusterIssuer {}, also of others, gives access to the databases of OVN: when Neutron may be \
                     unavailable for some minutes, give OVN an authority of its own by `kubectl patch ovnclusters.ovn.c5c3.io ovn \
                     -n {namespace} --type merge -p \
                     '{{\"spec\":{{\"tls\":{{\"issuerRef\":{{\"name\":\"{AUTHORITY}\",\"kind\":\"Issuer\"}}}}}}}}'`",
                    issuer.name
                ),
            ),
            Ok(_) => return,
            Err(message) => Progress::unknown(message),
        };
        conditions.note(ISSUER_EXCLUSIVE, &progress);
    }

    /// Composes the control plane's own authority, if it issues certificates. It stays as it is while it isn't known whether OVN has
    /// certificates of it.
    pub(crate) fn authority(&self, sizes: &Sizes, desired: &mut DesiredState) {
        let own = Some(IssuerRef::issuer(AUTHORITY));
        if self.internal_issuer() != own && sizes.ovn_issuer != Ok(own) {
            if sizes.ovn_issuer.is_err() {
                self.keep_authority(desired);
            }
            return;
        }
        let authority = CertificateAuthority {
            name: AUTHORITY,
            root: ROOT,
            common_name: "OpenStack control plane",
        };
        authority.compose(self.namespace(), &ObjectMeta::default(), desired);
    }

    /// Leaves the authority as it is, if there is one.
    pub(crate) fn keep_authority(&self, desired: &mut DesiredState) {
        let namespace = self.namespace();
        desired.keep(Key::of::<Manifest<Issuer>>(namespace, ROOT));
        desired.keep(Key::of::<Manifest<Issuer>>(namespace, AUTHORITY));
        desired.keep(Key::of::<Manifest<Certificate>>(namespace, AUTHORITY));
    }
}
