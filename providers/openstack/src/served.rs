//! Whether a Gateway or an Ingress controller serves what is exposed, as their statuses say.

use std::collections::BTreeSet;

use c5c3_api::Condition;
use c5c3_api::parts::{self, Exposure};
use c5c3_kinds::gateway::{Gateway, Listener, ListenerStatus, Parent, Routed};
use k8s_openapi::api::networking::v1::Ingress;
use provider_composer::{Lookup, Progress, Reason};

use crate::component::Component;
use crate::tls::issued;

const PROGRAMMED: &str = "Programmed";

/// Whether the certificate of an Ingress exists, and a controller serves the Ingress. An Ingress has no conditions: that a controller
/// serves it shows in the address that the controller writes into its status
/// (<https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/#IngressStatus>).
pub(crate) fn by_ingress(component: &Component<'_>, exposure: &parts::Ingress) -> Progress {
    let (service, name) = (component.service, &component.object);
    if let Some(secret) = &exposure.tls_secret_name {
        let purpose = "the public certificate";
        if let Err(pending) = issued(service.namespace, secret, purpose, service.observed) {
            return pending;
        }
    }
    let class = match &exposure.class_name {
        Some(class) => format!("IngressClass {class}"),
        None => "the default IngressClass".to_owned(),
    };
    match service.body::<Ingress>(name) {
        Lookup::Found(ingress) if has_address(&ingress) => Progress::Ready,
        Lookup::Found(_) | Lookup::Missing => Progress::waiting(
            Reason::WaitingFor("Ingress"),
            format!(
                "waits for the controller of {class} to serve Ingress {name}, whose status.loadBalancer.ingress is empty: check that the \
                 controller runs and publishes its address, for instance ingress-nginx with --publish-service or \
                 --publish-status-address, Traefik with publishService or publishStatusAddress of its provider kubernetesIngressNGINX"
            ),
        ),
        Lookup::Unknown(message) => Progress::Unknown { message },
    }
}

fn has_address(ingress: &Ingress) -> bool {
    let status = ingress.status.as_ref();
    let balancer = status.and_then(|status| status.load_balancer.as_ref());
    let addresses = balancer.and_then(|balancer| balancer.ingress.as_ref());
    addresses.is_some_and(|addresses| !addresses.is_empty())
}

/// Whether a Gateway serves a route: it has accepted the route, resolved its references, and configured its own listeners.
pub(crate) fn by_gateway(
    component: &Component<'_>,
    exposure: &Exposure,
    gateway: &parts::Gateway,
) -> Progress {
    match attached(component, gateway) {
        Progress::Ready => programmed(component, exposure, gateway),
        pending => pending,
    }
}

/// Whether the Gateway has accepted the present route and resolved its references.
fn attached(component: &Component<'_>, gateway: &parts::Gateway) -> Progress {
    let (service, name) = (component.service, &component.object);
    let accept = format!("Gateway {} to take HTTPRoute {name}", gateway.name);
    let route = match service.get::<Routed>(name) {
        Lookup::Found(route) => route,
        Lookup::Missing => return waits(&accept, ""),
        Lookup::Unknown(message) => return Progress::Unknown { message },
    };
    let resolve = format!(
        "Gateway {} to resolve the references of HTTPRoute {name}",
        gateway.name
    );
    let steps = [("Accepted", &accept), ("ResolvedRefs", &resolve)];
    let pending = |parent: &Parent| {
        let mut steps = steps.iter();
        steps.find_map(|(type_, what)| {
            let why = unmet(&parent.conditions, type_, route.metadata.generation)?;
            Some(waits(what, why))
        })
    };
    let parents = route.body.status.parents.iter();
    let parents = parents.filter(|parent| is_of(parent, gateway, service.namespace));
    // One that serves the route is enough: a controller may have one for each listener, and a former controller may have left one.
    let each: Option<Vec<Progress>> = parents.map(pending).collect();
    match each {
        None => Progress::Ready,
        Some(pending) => {
            let first = pending.into_iter().next();
            first.unwrap_or_else(|| waits(&accept, ""))
        }
    }
}

/// Whether a parent in the status of a route of this namespace is the Gateway, and the listener if the route names one.
fn is_of(parent: &Parent, gateway: &parts::Gateway, own: &str) -> bool {
    let parent = &parent.parent_ref;
    let is_same_listener =
        gateway.section_name.is_none() || parent.section_name == gateway.section_name;
    parent.name == gateway.name
        && namespace(parent, own) == namespace(gateway, own)
        && is_same_listener
}

/// The namespace of a Gateway that a route of this namespace names.
fn namespace<'a>(gateway: &'a parts::Gateway, own: &'a str) -> &'a str {
    gateway.namespace.as_deref().unwrap_or(own)
}

/// Whether the Gateway of an accepted route exists, and has configured itself and a listener for the host name. When a Gateway is deleted,
/// its controller may leave the status of routes as it is: Traefik 3.7 skips a route all of whose Gateways are gone
/// (<https://github.com/traefik/traefik/blob/v3.7.13/pkg/provider/kubernetes/gateway/httproute.go>). A Gateway that can't be read, for
/// instance in a namespace that the operator doesn't watch, is taken to serve.
fn programmed(
    component: &Component<'_>,
    exposure: &Exposure,
    reference: &parts::Gateway,
) -> Progress {
    let service = component.service;
    let namespace = namespace(reference, service.namespace);
    let named = format!("Gateway {namespace}/{}", reference.name);
    let gateway = match service.observed.get::<Gateway>(namespace, &reference.name) {
        Lookup::Found(gateway) => gateway,
        Lookup::Unknown(_) => return Progress::Ready,
        Lookup::Missing => {
            let missing = format!("{named}, which doesn't exist");
            return waits(&missing, "create it, or name another one");
        }
    };
    let generation = gateway.metadata.generation;
    let gateway = &gateway.body;
    if let Some(why) = unmet(&gateway.status.conditions, PROGRAMMED, generation) {
        return waits(&format!("{named} to be programmed"), why);
    }
    let listeners = listeners(
        gateway,
        reference.section_name.as_deref(),
        &exposure.hostname,
    );
    let unprogrammed = |listener: &&ListenerStatus| {
        let why = unmet(&listener.conditions, PROGRAMMED, generation)?;
        let what = format!("listener {} of {named} to be programmed", listener.name);
        Some(waits(&what, why))
    };
    let each: Option<Vec<Progress>> = listeners.iter().map(unprogrammed).collect();
    let first = each.and_then(|pending| pending.into_iter().next());
    first.unwrap_or(Progress::Ready)
}

/// The status of the listeners that requests for a host name arrive at: the one that the route names, otherwise those that take the host
/// name, with HTTPS where there are any.
fn listeners<'g>(
    gateway: &'g Gateway,
    section: Option<&str>,
    hostname: &str,
) -> Vec<&'g ListenerStatus> {
    let takes = |listener: &&Listener| match section {
        Some(section) => listener.name == section,
        None => takes_host(listener, hostname),
    };
    let of_protocol = |protocol: &str| -> BTreeSet<&'g str> {
        let all = gateway.spec.listeners.iter();
        let all = all.filter(|listener| listener.protocol == protocol && takes(listener));
        all.map(|listener| listener.name.as_str()).collect()
    };
    let mut names = of_protocol("HTTPS");
    if names.is_empty() {
        names = of_protocol("HTTP");
    }
    let all = gateway.status.listeners.iter();
    all.filter(|status| names.contains(status.name.as_str()))
        .collect()
}

/// Whether a listener takes requests for a host name. Its `*` stands for any number of labels
/// (<https://gateway-api.sigs.k8s.io/reference/spec/#hostname>).
fn takes_host(listener: &Listener, hostname: &str) -> bool {
    match listener.hostname.as_deref() {
        None | Some("") => true,
        Some(pattern) => match pattern.strip_prefix('*') {
            Some(domain) => hostname.ends_with(domain),
            None => hostname == pattern,
        },
    }
}

/// Returns why a condition isn't True for the present generation, if it isn't. The text is empty where no condition is of that generation.
fn unmet<'c>(conditions: &'c [Condition], type_: &str, generation: Option<i64>) -> Option<&'c str> {
    let mut conditions = conditions.iter();
    let condition = conditions.find(|condition| condition.type_ == type_);
    let is_current = |condition: &&Condition| {
        let observed = condition.observed_generation;
        observed.is_none() || observed >= generation
    };
    match condition.filter(is_current) {
        Some(condition) if condition.status == "True" => None,
        // Traefik's conditions of routes have no message.
        Some(condition) if condition.message.is_empty() => Some(&condition.reason),
        Some(condition) => Some(&condition.message),
        None => Some(""),
    }
}

fn waits(what: &str, why: &str) -> Progress {
    let why = match why {
        "" => String::new(),
        why => format!(": {why}"),
    };
    let message = format!("waits for {what}{why}");
    Progress::waiting(Reason::WaitingFor("Gateway"), message)
}
