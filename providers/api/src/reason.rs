//! The reasons of conditions: one for each fact, with what to do about it.

use std::fmt::{self, Display, Formatter};

/// The reasons of a section of `docs/troubleshooting.md`.
#[derive(Debug)]
pub struct Section {
    /// The heading of the section.
    pub title: &'static str,
    /// Each reason with the lines of its advice.
    pub reasons: &'static [(Reason, &'static [&'static str])],
}

/// Declares [`Reason`] and [`SECTIONS`]. The documentation of a reason is the advice that users read.
macro_rules! reasons {
    ($($title:literal { $($(#[doc = $advice:literal])+ $name:ident,)+ })+) => {
        /// Why a condition has its status: one reason for each fact.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($($(#[doc = $advice])+ $name,)+)+
            /// Nothing is wrong: the message names the object that is waited for. If it takes too long, look at that
            /// object. The value follows `WaitingFor` in the condition, for instance `Keystone`.
            WaitingFor(&'static str),
        }

        /// Every reason but [`Reason::WaitingFor`], by section.
        pub const SECTIONS: &[Section] = &[$(Section {
            title: $title,
            reasons: &[$((Reason::$name, &[$($advice),+])),+],
        }),+];

        impl Reason {
            /// Returns the variant's name: the reason without what `WaitingFor` waits for, as in the label of a metric.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$name => stringify!($name),)+)+
                    Self::WaitingFor(_) => "WaitingFor",
                }
            }
        }
    };
}

reasons! {
    "Any resource" {
        /// The resource isn't valid: the message names the field and the values that it takes.
        Invalid,
        /// An object that the resource depends on could not be read, so nothing is changed: a CRD or a right is missing, or
        /// the API server is unavailable.
        LookupFailed,
        /// An object of this name exists and has another owner, so it is left alone: rename or delete it, or choose another
        /// name here. After a restore, [hand the objects over](operations.md#restore-claims-from-a-backup).
        NameTaken,
        /// The API server refused an object; the message is the server's: often a webhook, a quota, an expired kubeconfig, or
        /// a CRD that is missing or too old.
        NotApplied,
        /// A Secret has no such key, or its value is empty or has a line break: `printf`, not `echo`, writes one without.
        InvalidSecret,
        /// The operator failed on this resource: report the message and the operator's log.
        InternalError,
        /// An external system can't be reached. The operator tries again. A resource that was Ready stays Ready for five minutes while only
        /// changes in that system fail: meanwhile `Reconciling` has this reason.
        SystemUnavailable,
        /// An external system refused a request; the message is the system's. Correct what it names.
        SystemRefused,
        /// Half of the time between the renewal of a certificate and its expiry has passed, and cert-manager hasn't renewed it: the message
        /// says until when it is valid, and why. Correct its issuer before then.
        CertificateNotRenewed,
    }
    "A claim" {
        /// The named cluster doesn't exist in that namespace: correct the name, or create the cluster.
        PoolMissing,
        /// The platform team sees [what the cluster waits for](#a-cluster-isnt-ready).
        PoolNotReady,
        /// Crossplane couldn't read the pool. It tries again with the next reconcile.
        PoolLookupFailed,
        /// A claim consumes pools of its own region only.
        PoolInOtherRegion,
        /// Ask the pool's owner to add your namespace to `sharing.allowedNamespaces`.
        PoolNotAllowed,
        /// The pool serves another claim exclusively: name another pool.
        PoolDedicated,
        /// The pool hasn't decided yet. Wait for its next reconcile, a minute at most.
        PoolAwaitingAdmission,
        /// The nodes' addresses of two clusters overlap: the message names both. Name another pool.
        PoolNetworkTaken,
        /// All nodes of the pool are promised to other claims, or it has as many consumers as it admits: raise `maxWorkers` or
        /// `sharing.maxConsumers`, or name another pool.
        PoolFull,
        /// The pool is being deleted and waits for its consumers: name another pool.
        PoolDeleting,
        /// The numbers in the message don't fit: raise the number of disks.
        TooFewDisks,
        /// The numbers in the message don't fit: raise the number of workers, or first remove or mark what the message names. See
        /// [pool sharing](pool-sharing.md#shrink-a-hypervisor-pool).
        TooFewWorkers,
        /// This version doesn't support what the message names: disable or remove it.
        Unsupported,
        /// The site doesn't offer what the message names: ask the platform team for the setting that it names.
        NotOffered,
        /// The claim asks for more of a hypervisor pool than the site allows, and gets what is allowed: lower what the message
        /// names.
        LimitExceeded,
        /// Nova may choose a host of another hypervisor pool, to which the server doesn't move: the message says which moves fail, and what
        /// to do. See [hypervisors](hypervisors.md#move-servers-to-another-pool).
        PoolsSeparate,
        /// The message lists what the spec no longer wants and what is kept because it has data; it has the command that
        /// deletes it.
        DataRetained,
        /// `c5c3.io/delete-retained` has a name of which nothing is retained: correct it. If what it named is gone, remove it, because it
        /// releases what is later retained under that name.
        NotRetained,
        /// Something that was ready is not ready any more: the message names it.
        NotReady,
        /// Gardener gave up on the Shoot; the message is Gardener's.
        Failed,
        /// Ceph reports HEALTH_ERR: see `ceph status` in Rook's toolbox.
        HealthError,
    }
    "A ControlPlane" {
        /// This release can't follow the installed one: take the step that the message names.
        ReleaseNotReachable,
        /// This version of the operator doesn't know the release: choose one from the message, set `release` for an image
        /// whose tag names none, or install a newer operator.
        ReleaseUnknown,
        /// The new release failed, and the last good one runs again: correct what the message names. Any change of the spec
        /// starts the update again.
        UpdateFailed,
        /// Every other service needs Keystone: enable it, or disable those.
        KeystoneDisabled,
        /// Agents need load balancers with addresses: choose a class of load balancers that assigns them.
        NoAddress,
        /// Another ControlPlane has this namespace: use another namespace.
        AnotherControlPlane,
        /// K-ORC gave up on an object, as with a name that exists twice: correct what the message names, then delete that
        /// object, and it is created again.
        RefusedByKORC,
        /// An annotation of `expose.ingress.annotations`, or its value, isn't allowed on an Ingress; the message names it and
        /// the allowed ones.
        AnnotationNotAllowed,
        /// Clients outside the cluster don't reach the API that the message names: its Gateway was deleted or doesn't serve the route,
        /// its Ingress has no certificate, or no address of a controller, or the catalogue doesn't have its public endpoint yet.
        /// [Nothing else waits for it](control-planes.md#reach-the-apis-from-outside).
        NotExposed,
        /// Neutron has no such external network, and nothing says of what to create one: set what the message names.
        NetworkMissing,
        /// No backup has succeeded for a whole interval of `backup.schedule`. Look at the Job that the message names, and at its
        /// volume or bucket.
        BackupOverdue,
        /// RabbitMQ blocks all publishers while one of its members lacks disk space or memory: do what the message says.
        /// [The alarms end by themselves](control-planes.md#alarms-of-rabbitmq). Where `RabbitMQUnblocked` is Unknown, RabbitMQ doesn't
        /// answer now, and had alarms before.
        ResourceAlarm,
    }
    "A CredentialRotation or SecretAggregate" {
        /// `targetServiceUser` must be the name of one of K-ORC's Users in this namespace, for instance `glance`, or of a service with
        /// databases or message buses.
        UserNotFound,
        /// An older CredentialRotation of the same type for the same user takes precedence: delete one of the two.
        AnotherRotation,
        /// The next credential is being created; the present one stays in use until then. Where Keystone refuses the present one, the message
        /// says so: see [restore the databases](operations.md#restore-the-databases-of-a-control-plane).
        MakingCredential,
        /// Another service has the user that the rotation deletes: give the object that the message names another user. The
        /// present user stays in use until then.
        UserShared,
    }
    "An OpenStack service" {
        /// A user doesn't reach its pool in Ceph; the message has Ceph's error. Pods keep running, and the pool is checked every ten minutes.
        CephUnreachable,
        /// A pool in Ceph has used most of its capacity, and Ceph refuses writes to a full pool: do what the message says.
        NearlyFull,
        /// Cinder has nowhere to put volumes: add a pool in Ceph to `backends`, or a storage cluster to the ControlPlane.
        NoBackends,
        /// The message names the option, and options with similar names. Running pods keep their configuration.
        InvalidConfiguration,
        /// The message names the rule, and what is wrong with it. Running pods keep their policies.
        InvalidPolicy,
        /// The operator sets this option from a field of the resource, which the message names: use that field.
        OwnedByOperator,
        /// `release` and the image's tag name different releases: correct one of them.
        ReleaseMismatch,
        /// The database no longer works with the older release, or hypervisors run the newer one: set the newer one again. In a ControlPlane,
        /// change its spec.
        TooLateToGoBack,
        /// A Job failed. It is retried within minutes, or at the next time of its schedule: correct what its log reports.
        JobFailing,
        /// A Job failed for good: the message has the Job and the usual cause. A change of what it uses starts it again at
        /// once.
        JobFailed,
        /// New pods don't become ready: the image is still being pulled or doesn't exist, or the database refuses the
        /// password. Older pods keep running. After ten minutes the resource is Stalled.
        NotStarting,
        /// No pod is ready any more; most often the database is unavailable. The pods recover with it.
        Unavailable,
        /// The ServiceMonitor can't be created: prometheus-operator isn't installed. Nothing else waits for it.
        NotMonitored,
        /// Services wait for each other by `dependsOn`: the message has the cycle. Remove one dependency.
        DependencyCycle,
        /// The Secret's password has changed, and messaging-topology-operator, which is older than 1.20, doesn't change a user's
        /// password: delete the User and the Permission that the message names, and both are created again, with the new password.
        PasswordNotTaken,
        /// The image doesn't support a setting: use the image that the message names, or disable the setting.
        NotInImage,
        /// Another resource of the kind uses the database or virtual host that the message names: name another one, and delete neither
        /// object. See [services](services.md#run-two-services-of-one-kind-in-a-namespace).
        DataShared,
        /// Another Neutron uses the northbound database of OVN, and a repair would delete its networks: give each an OVNCluster of its
        /// own.
        NorthboundShared,
        /// Secrets with single keys of Keystone don't have the keys of its pods, for instance as an earlier version of the operator left them,
        /// and backups lack the pods' keys. Save all of them before you delete
        /// [those that are wrong](operations.md#keys-of-keystones-credentials).
        KeysDiffer,
    }
    "A Tempest" {
        /// Tests of the last run failed: `status.failures` of the Tempest names them, and the log of the run says why. Correct the
        /// cause, then [run them again](tempest.md#run-tests-again).
        TestsFailed,
        /// The last run ended without results; the message says why. It is tried again.
        TestsNotRun,
        /// No test of the last run failed, but all were skipped, or the cloud has no external network for those of networks, so the run
        /// doesn't show that the services work. Do what the message says, then [run the tests again](tempest.md#run-tests-again).
        TestsSkipped,
        /// The last run could not delete all that it had created in the cloud; the message names what is left. Find out why, for instance
        /// in the log of the service that has it, then [run the tests again](tempest.md#run-tests-again): each run begins with deleting
        /// it.
        NotCleanedUp,
    }
    "An OVNCluster or OVNChassis" {
        /// A node belongs to the only OVNCluster of its namespace: keep exactly one.
        NoCluster,
        /// The node's ovn-controller hasn't registered in the southbound database yet: check its pod on the node.
        NotRegistered,
        /// The node's ovn-controller doesn't apply changes any more: check its pod on the node.
        Silent,
        /// Every certificate of the ClusterIssuer that the message names, also of others, gives access to the databases, or to libvirt on the
        /// nodes of a HypervisorShare: [give OVN an authority of its own](ovn.md#change-the-authority), or do what the message of the share
        /// says.
        IssuerShared,
    }
    "A HypervisorPool or HypervisorShare" {
        /// A cluster is one pool, and this one has several HypervisorPools: delete all but one.
        SeveralPools,
        /// Nodes are leased by a HypervisorPool: create one in this cluster.
        NoPool,
        /// An older HypervisorShare leases nodes for the same control plane: delete one of the two.
        AnotherShare,
        /// The shares' `minHosts` exceed the pool: add nodes, or lower them. Elder shares get theirs first.
        Overcommitted,
        /// A node is leased to a control plane without a HypervisorShare, or has lost the label of its lease, and stays so: create the
        /// share or set the label again, or remove the labels that the message names where no server is left on the node.
        LeaseWithoutShare,
        /// No part of the network's VLANs is left: widen its `vlanRange` in the HypervisorPool, lower `vlansPerShare`, or delete a share.
        VlansExhausted,
        /// Nova moves no host with servers to another availability zone: delete or shelve the servers on the host that the message
        /// names, or set `availabilityZone` back (with claims, the label `availability-zone` of the pool). Or a zone is removed only with
        /// its aggregate, which has properties that an administrator set: remove those that the message names.
        ZoneInUse,
        /// Nova has servers on a node whose lease a person ended, by deleting its Node or its label: make sure that the machine is off,
        /// then [evacuate or delete its servers](hypervisors.md#remove-a-dead-node).
        NodeLost,
        /// A node hasn't been Ready for 15 minutes: it keeps its lease, and its share may get no other node for it. Repair it,
        /// [cordon it](pool-sharing.md#nodes-that-fail) to have it replaced, or [remove it](hypervisors.md#remove-a-dead-node).
        NodeNotReady,
        /// There are several where one is expected, for instance Secrets with the configuration of one agent, or networks of the name that
        /// the message has: delete or rename all but one.
        Ambiguous,
        /// A node lacks what the agents need, or has servers of another share: the message names the node and what to do. See
        /// [create a share again](hypervisors.md#create-a-share-again).
        RequirementMissing,
        /// Nova starts no further server on the nodes that the message names, because their compute services are disabled, as by an
        /// administrator. To enable one: `openstack compute service set --enable NODE nova-compute`.
        ComputeServiceDisabled,
        /// Nodes have no uplink to a physical network, so they aren't gateways to it: see
        /// [connect a physical network](hypervisors.md#connect-a-physical-network). Nothing to do where only other nodes are to be
        /// gateways.
        UplinkMissing,
        /// Nova's aggregate keeps its hosts for flavors that require a trait, which the hosts have no longer: remove the property that the
        /// message names, or give the share the trait again (with claims, by the label of the pool).
        TraitMissing,
    }
    "A ShootKubeconfig" {
        /// More than half of the kubeconfig's life has passed, and it can't be renewed: the message says until when it is valid, and why.
        /// See [operations](operations.md#renew-kubeconfigs).
        RenewalOverdue,
    }
    "Nothing to do" {
        /// The resource or its part is ready.
        Ready,
        /// The claim is valid, and its names are free.
        Accepted,
        /// The size is valid.
        SizeAccepted,
        /// All enabled services are supported.
        Supported,
        /// The site exposes the APIs and hands out credentials.
        Offered,
        /// Every pool can be consumed.
        PoolsReady,
        /// The storage cluster has enough disks.
        EnoughDisks,
        /// The claim no longer has `verify`, so what an earlier run of Tempest found doesn't count.
        NotVerified,
        /// Nothing is kept that the spec no longer wants.
        NothingRetained,
        /// The Shoot runs.
        Created,
        /// Gardener creates the Shoot.
        Creating,
        /// The message says what is waited for.
        Waiting,
        /// It comes after what another condition waits for.
        Pending,
        /// Pods start.
        Starting,
        /// The control plane is installed for the first time.
        Installing,
        /// An update of the release waits for the present release to be ready.
        Validating,
        /// An update of the release has reached databases, message bus and caches.
        UpdatingInfra,
        /// An update of the release has reached Keystone.
        UpdatingKeystone,
        /// An update of the release has reached the other services.
        UpdatingServices,
        /// An update of the release checks the new release.
        Verifying,
        /// The last good release is being restored: the message says why.
        RollingBack,
        /// Nodes are drained: the message says what each waits for.
        Draining,
        /// The message says what is left to delete.
        Deleting,
        /// Parts that the spec no longer wants are being removed.
        Removing,
        /// A member leaves the database cluster.
        RemovingMembers,
    }
}

impl Reason {
    /// Returns the reason that a condition of another resource has; [`Reason::NotReady`] for one that isn't in this list.
    pub fn reported(text: &str) -> Self {
        let mut all = SECTIONS.iter().flat_map(|section| section.reasons);
        all.find(|(reason, _)| reason.name() == text)
            .map_or(Self::NotReady, |(reason, _)| *reason)
    }
}

impl Display for Reason {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingFor(what) => write!(out, "WaitingFor{what}"),
            _ => out.write_str(self.name()),
        }
    }
}
