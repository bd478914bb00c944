//! The composers of the four claims: OpenStackCluster, ControlPlaneCluster, HypervisorCluster and StorageCluster.
