//! A small control plane, and who looks at it.

/// Identity and images, and all of the infrastructure.
pub const SMALL: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: small}
---
apiVersion: c5c3.io/v1alpha1
kind: ControlPlane
metadata: {name: small, namespace: small}
spec:
  openStackRelease: \"2025.2\"
  infrastructure:
    mariadb: {replicas: 1, storageSize: 1Gi}
    rabbitmq: {replicas: 1, storageSize: 1Gi}
    valkey: {replicas: 1, sentinel: {enabled: false}}
    memcached: {replicas: 1, memory: 64Mi}
  services:
    nova: {enabled: false}
    neutron: {enabled: false}
    cinder: {enabled: false}
  global: {tls: {enabled: false}}
";

/// A key of Keystone's credentials, as the operator of a Keystone that is installed has made it.
pub const KEY_OF_KEYSTONE: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: keystone-credential-key-1
  namespace: small
  labels:
    app.kubernetes.io/name: keystone
    app.kubernetes.io/instance: keystone
    keystone.openstack.c5c3.io/key-of: credential
stringData: {key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=}
";

pub const ROTATION_OF_GLANCE: &str = "\
apiVersion: c5c3.io/v1alpha1
kind: CredentialRotation
metadata: {name: glance, namespace: small}
spec: {targetServiceUser: glance}
";

/// Who may read everything.
pub const READER: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: small}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [\"*\"], resources: [\"*\"], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: small}]
";

/// Who may look at everything but Secrets.
pub const WATCHER: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: watcher, namespace: small}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watcher}
rules:
  - {apiGroups: [\"\"], resources: [services, configmaps, persistentvolumeclaims], verbs: [list, watch]}
  - apiGroups:
      - apps
      - autoscaling
      - batch
      - gateway.networking.k8s.io
      - networking.k8s.io
      - policy
      - cert-manager.io
      - c5c3.io
      - crossplane.c5c3.io
      - k8s.mariadb.com
      - rabbitmq.com
      - cache.cs.sap.com
      - openstack.k-orc.cloud
      - external-secrets.io
      - ovn.c5c3.io
      - cortex.c5c3.io
      - keystone.openstack.c5c3.io
      - glance.openstack.c5c3.io
      - placement.openstack.c5c3.io
      - nova.openstack.c5c3.io
      - neutron.openstack.c5c3.io
      - cinder.openstack.c5c3.io
      - tempest.openstack.c5c3.io
    resources: [\"*\"]
    verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watcher}
subjects: [{kind: ServiceAccount, name: watcher, namespace: small}]
";
