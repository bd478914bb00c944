//! The HorizontalPodAutoscaler of a component.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec,
    MetricTarget, ResourceMetricSource,
};
use provider_composer::{DesiredState, Failure, Reason};

use crate::component::Component;

impl Component<'_> {
    /// Applies the HorizontalPodAutoscaler, if autoscaling is enabled.
    ///
    /// # Errors
    /// `maxReplicas` is less than `replicas`, or the pods request no CPU.
    pub(crate) fn autoscale(&self, desired: &mut DesiredState) -> Result<(), Failure> {
        let Some(autoscaling) = self.scale.autoscaling else {
            return Ok(());
        };
        let (least, most) = (self.scale.replicas, autoscaling.max_replicas);
        if most < least {
            let message = format!(
                "autoscaling.maxReplicas is {most}, and replicas, which are the least, are {least}: give more, or fewer \
                 replicas"
            );
            return Err(Failure::new(Reason::Invalid, message));
        }
        if !self.scale.resources.requests.contains_key("cpu") {
            return Err(Failure::new(
                Reason::Invalid,
                "autoscaling needs the CPU that replicas request: set resources.requests.cpu",
            ));
        }
        let autoscaler = HorizontalPodAutoscaler {
            metadata: self.metadata(),
            spec: HorizontalPodAutoscalerSpec {
                min_replicas: Some(count(least)),
                max_replicas: count(most),
                scale_target_ref: CrossVersionObjectReference {
                    api_version: Some("apps/v1".to_owned()),
                    kind: "Deployment".to_owned(),
                    name: self.object.clone(),
                },
                metrics: Some(vec![MetricSpec {
                    type_: "Resource".to_owned(),
                    resource: Some(ResourceMetricSource {
                        name: "cpu".to_owned(),
                        target: MetricTarget {
                            type_: "Utilization".to_owned(),
                            average_utilization: Some(count(autoscaling.target_cpu_utilization)),
                            ..MetricTarget::default()
                        },
                    }),
                    ..MetricSpec::default()
                }]),
                ..HorizontalPodAutoscalerSpec::default()
            },
            ..HorizontalPodAutoscaler::default()
        };
        desired.apply(self.service.namespace, &self.object, &autoscaler);
        Ok(())
    }

    /// The desired replicas of the Deployment. With autoscaling, those that the autoscaler chose, within its bounds; none while that
    /// can't be read.
    pub(crate) fn replicas(&self) -> Option<i32> {
        let least = count(self.scale.replicas);
        let Some(autoscaling) = self.scale.autoscaling else {
            return Some(least);
        };
        let deployment = self.service.body::<Deployment>(&self.object);
        let deployment = deployment.known().ok()?;
        let chosen = deployment.and_then(|deployment| deployment.spec.replicas);
        let most = count(autoscaling.max_replicas).max(least);
        Some(chosen.unwrap_or(least).clamp(least, most))
    }
}

fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
