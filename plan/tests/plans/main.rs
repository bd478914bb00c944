//! Plans of the examples, and of what users get wrong.

#[cfg(test)]
mod cells;
#[cfg(test)]
mod container_images;
#[cfg(test)]
mod control_planes;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod footprint;
#[cfg(test)]
mod gitops;
#[cfg(test)]
mod given;
#[cfg(test)]
mod images;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod names;
#[cfg(test)]
mod network;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod pod_security;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod shoots;
#[cfg(test)]
mod validation;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod workloads;
