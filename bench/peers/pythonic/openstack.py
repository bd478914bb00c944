"""What functions/c5c3/src/openstack makes of customer-a-prod, as a composition for crossplane-function-pythonic.

Every composed resource, its readiness, the status and which conditions hold are the same; the load generator checks that
before it measures. What customer-a-prod doesn't use is left out: Manila, object stores, stretched and dedicated
pools, claims of the same name, what happens when a pool is gone.
"""

from crossplane.pythonic import BaseComposite

OBJECT = "kubernetes.crossplane.io/v1alpha2"
USAGE = "apiextensions.crossplane.io/v1beta1"
POOLS = "crossplane.c5c3.io/v1alpha1"
ROOK = "rook-ceph"
REFRESH = "1h0m0s"


class OpenStackCluster(BaseComposite):
    def compose(self):
        labels = self.metadata.labels
        self.claim = str(labels["crossplane.io/claim-name"])
        self.claim_namespace = str(labels["crossplane.io/claim-namespace"])
        self.namespace = f"openstack-{self.claim}"
        self.preset = self.parameters.sizes[str(self.spec.size)]
        self.services = {
            name: bool(self.spec.services[name]) if self.spec.services[name] else default
            for name, default in SERVICES.items()
        }
        self.waiting = {"StorageReady": [], "HypervisorsReady": []}

        region = str(self.spec.region)
        self.control_plane_cluster = self.pool("ControlPlaneCluster", f"{region}-control-plane")
        self.hypervisors = [
            self.pool("HypervisorCluster", str(name)) for name in self.spec.hypervisorClusters
        ]
        self.storages = [self.pool("StorageCluster", str(name)) for name in self.spec.storageClusters]
        namesakes = self.requireds["namesakes"](
            "c5c3.io/v1alpha1", "XOpenStackCluster", labels={"crossplane.io/claim-name": self.claim}
        )
        pools = [self.control_plane_cluster, *self.hypervisors, *self.storages]
        if not namesakes or not all(pool["composite"] for pool in pools):
            self.ready = False
            return

        self.compose_namespace()
        pool_status = [self.compose_pools(number, pool) for number, pool in enumerate(self.storages)]
        for number, pool in enumerate(self.storages):
            self.compose_keys(number, pool)
        hosts = [self.compose_share(pool) for pool in self.hypervisors]
        control_plane = self.compose_control_plane()
        self.compose_usages()
        self.tell(pool_status[0], hosts, control_plane)

    def pool(self, kind, name):
        """Asks for a pool, by its claim or, where there is none, by its own name."""
        namespace = str(self.parameters.poolNamespace or "infrastructure")
        claimed = self.requireds[f"{kind}/{name}"](
            POOLS,
            f"X{kind}",
            labels={"crossplane.io/claim-name": name, "crossplane.io/claim-namespace": namespace},
        )
        self.requireds[f"{kind}/{name}/unclaimed"](POOLS, f"X{kind}", name=name)
        composite = claimed[0].observed if len(claimed) else None
        return {"name": name, "kind": kind, "composite": composite}

    def object(self, name, cluster, manifest, is_ready):
        """Wants a manifest in a cluster; says what is known of it there, and whether it is ready."""
        composed = self.resources[name](OBJECT, "Object")
        composed.spec.forProvider.manifest = manifest
        composed.spec.providerConfigRef.name = cluster
        composed.spec.watch = True
        status = composed.status.atProvider.manifest.status
        synced = bool(composed.conditions["Synced"].status)
        composed.ready = synced and is_ready(status)
        return status, composed

    def compose_namespace(self):
        manifest = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": self.namespace,
                "labels": {
                    "c5c3.io/claim-namespace": self.claim_namespace,
                    "c5c3.io/openstack-cluster": "true",
                },
            },
        }
        self.object(
            "namespace", self.control_plane_cluster["name"], manifest, lambda status: status.phase == "Active"
        )

    def rbd_pools(self, number):
        first = number == 0
        wanted = [("volumes", self.services["cinder"]), ("images", self.services["glance"] and first)]
        wanted.append(("ephemeral", self.services["nova"] and first))
        return [purpose for purpose, is_wanted in wanted if is_wanted]

    def clients(self, number):
        first = number == 0
        wanted = [("cinder", self.services["cinder"]), ("glance", self.services["glance"] and first)]
        wanted.append(("nova", self.services["nova"]))
        return [service for service, is_wanted in wanted if is_wanted]

    def compose_pools(self, number, pool):
        ceph = self.spec.storage.ceph
        purposes = self.rbd_pools(number)
        found = {}
        for purpose in purposes:
            field, copies, compression = RBD[purpose]
            copies = int(ceph[field].replication or copies)
            if purpose != "ephemeral":
                compression = str(ceph[field].compression or compression)
            spec = {
                "failureDomain": "host",
                "deviceClass": str(pool["composite"].spec.ceph.deviceClass or "nvme"),
                "replicated": {"size": copies, "requireSafeReplicaSize": copies > 1},
                "parameters": {"compression_mode": compression},
                "enableRBDStats": purpose == "volumes",
            }
            quota = int(ceph.volumePool.quotaGB or 0)
            if purpose == "volumes" and quota:
                spec["quotas"] = {"maxSize": f"{quota}G"}
            found[purpose] = self.rook(pool, "CephBlockPool", purpose, purpose, spec)
        for service in self.clients(number):
            own = [f"profile rbd pool={self.claim}-{purpose}" for purpose in WRITES[service] if purpose in purposes]
            read = [
                f"profile rbd-read-only pool={self.claim}-{purpose}"
                for purpose in READS[service]
                if purpose in purposes
            ]
            caps = {"mgr": ", ".join(own), "mon": "profile rbd", "osd": ", ".join(own + read)}
            self.rook(pool, "CephClient", f"client-{service}", service, {"caps": caps})
        return found

    def rook(self, pool, kind, resource, suffix, spec):
        name = f"{self.claim}-{suffix}"
        manifest = {
            "apiVersion": "ceph.rook.io/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": ROOK},
            "spec": spec,
        }
        cluster = pool["name"]
        status, composed = self.object(
            f"{resource}-{cluster}", cluster, manifest, lambda status: status.phase == "Ready"
        )
        if composed.observed and not composed.ready:
            self.waiting["StorageReady"].append(f"{kind} {name} in {cluster}")
        return "Ready" if composed.ready else "Creating"

    def compose_keys(self, number, pool):
        cluster = pool["name"]
        self.push(cluster, "monitors", "rook-ceph-config", "mon_host", "cluster", "mon_host")
        for service in self.clients(number):
            user = f"{self.claim}-{service}"
            self.push(cluster, service, f"rook-ceph-client-{user}", user, service, "key")
            name = f"ceph-{service}-{cluster}"
            data = [("key", service, "key"), ("monitors", "cluster", "mon_host")]
            manifest = {
                "apiVersion": "external-secrets.io/v1",
                "kind": "ExternalSecret",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {
                    "refreshInterval": REFRESH,
                    "secretStoreRef": self.store(),
                    "target": {
                        "name": name,
                        "creationPolicy": "Owner",
                        "template": {
                            "engineVersion": "v2",
                            "data": {
                                "ceph.conf": "[global]\nmon_host = {{ .monitors }}\n",
                                "keyring": f"[client.{user}]\nkey = {{{{ .key }}}}\n",
                                "userID": user,
                                "userKey": "{{ .key }}",
                            },
                        },
                    },
                    "data": [
                        {
                            "secretKey": key,
                            "remoteRef": {"key": self.path(cluster, what), "property": remote},
                        }
                        for key, what, remote in data
                    ],
                },
            }
            self.travel(f"pull-{service}-{cluster}", self.control_plane_cluster["name"], manifest)

    def push(self, cluster, what, secret, key, path, remote):
        manifest = {
            "apiVersion": "external-secrets.io/v1alpha1",
            "kind": "PushSecret",
            "metadata": {"name": f"{self.claim}-{what}", "namespace": ROOK},
            "spec": {
                "deletionPolicy": "Delete",
                "refreshInterval": REFRESH,
                "secretStoreRefs": [self.store()],
                "selector": {"secret": {"name": secret}},
                "data": [
                    {
                        "match": {
                            "secretKey": key,
                            "remoteRef": {"remoteKey": self.path(cluster, path), "property": remote},
                        }
                    }
                ],
            },
        }
        self.travel(f"push-{what}-{cluster}", cluster, manifest)

    def travel(self, resource, cluster, manifest):
        _, composed = self.object(resource, cluster, manifest, is_ready)
        if composed.observed and not composed.ready:
            name = manifest["metadata"]["name"]
            self.waiting["StorageReady"].append(f"{manifest['kind']} {name} in {cluster}")

    def path(self, cluster, what):
        return f"{self.namespace}/ceph/{cluster}/{what}"

    def store(self):
        return {field: str(self.parameters.secretStore[field]) for field in ("name", "kind")}

    def compose_share(self, pool):
        share = self.preset.share
        name, labels = pool["name"], pool["composite"].spec.labels
        qualities = {
            label: str(value) for label, value in labels if label not in ("availability-zone", "dedicated")
        }
        spec = {
            "controlPlane": self.claim,
            "weight": int(share.weight),
            "minHosts": int(share.minHosts or 0),
            "availabilityZone": str(labels["availability-zone"]),
            "aggregate": {"name": name, "metadata": qualities},
            "traits": [trait(label, value) for label, value in sorted(qualities.items())],
        }
        if share.maxHosts:
            spec["maxHosts"] = int(share.maxHosts)
        manifest = {
            "apiVersion": "hypervisor.c5c3.io/v1alpha1",
            "kind": "HypervisorShare",
            "metadata": {"name": self.claim},
            "spec": spec,
        }
        status, composed = self.object(f"share-{name}", name, manifest, is_ready)
        if composed.observed and not composed.ready:
            self.waiting["HypervisorsReady"].append(f"HypervisorShare in {name}")
        return len(status.hosts)

    def compose_control_plane(self):
        claim, preset = self.spec, self.preset
        services = {}
        for name, enabled in {"keystone": True, "placement": True, **self.services}.items():
            services[name] = preset.services[name] | {"enabled": enabled} if preset.services[name] else {"enabled": enabled}
        spec = {
            "openStackRelease": str(claim.openStackRelease or self.parameters.openStackRelease),
            "compute": {"hypervisorClusters": [pool["name"] for pool in self.hypervisors]},
            "storage": {
                "storageClusters": [pool["name"] for pool in self.storages],
                "ceph": {
                    "pools": {purpose: f"{self.claim}-{purpose}" for purpose in self.rbd_pools(0)},
                    "clients": [
                        {
                            "service": service,
                            "storageCluster": pool["name"],
                            "user": f"{self.claim}-{service}",
                            "secretRef": {"name": f"ceph-{service}-{pool['name']}"},
                        }
                        for number, pool in enumerate(self.storages)
                        for service in self.clients(number)
                    ],
                },
            },
            "infrastructure": preset.infrastructure,
            "services": services,
            "global": {
                "region": str(claim.region),
                "tls": {"enabled": True},
                "network": {"mtu": int(claim.network.mtu or 1500)},
                "monitoring": {"enabled": bool(self.parameters.monitoring)},
            },
        }
        if claim.tls.issuerRef:
            spec["global"]["tls"]["issuerRef"] = {"name": str(claim.tls.issuerRef), "kind": "ClusterIssuer"}
        if claim.cortex.enabled:
            spec["cortex"] = {
                "enabled": True,
                "replicas": int(preset.cortex.replicas),
                "pipelines": [str(pipeline) for pipeline in claim.cortex.pipelines],
            }
        manifest = {
            "apiVersion": "c5c3.io/v1alpha1",
            "kind": "ControlPlane",
            "metadata": {"name": self.claim, "namespace": self.namespace},
            "spec": spec,
        }
        return self.object("control-plane", self.control_plane_cluster["name"], manifest, is_ready)

    def compose_usages(self):
        self.order("namespace", "control-plane", "the control plane is in this namespace")
        for number, pool in enumerate(self.storages):
            cluster = pool["name"]
            data = [f"{purpose}-{cluster}" for purpose in self.rbd_pools(number)]
            clients = [f"client-{service}-{cluster}" for service in self.clients(number)]
            for resource in data:
                self.order(resource, "control-plane", "the control plane keeps its data there")
                self.order("namespace", resource, "its data go before the namespace")
                self.hold(pool, resource, "storage pool")
            for resource in clients:
                self.order(resource, "control-plane", "the control plane reaches its data with it")
        for pool in self.hypervisors:
            share = f"share-{pool['name']}"
            self.order(share, "control-plane", "the control plane runs on these nodes")
            self.order("namespace", share, "its nodes go before the namespace")
            self.hold(pool, share, "hypervisor pool")
        self.hold(self.control_plane_cluster, "namespace", "control plane cluster")

    def order(self, of, by, reason):
        self.usage(f"{of}-until-{by}", self.resources[of].observed, by, reason)

    def hold(self, pool, by, noun):
        reason = f"an OpenStackCluster consumes this {noun}"
        self.usage(f"{pool['name']}-until-{by}", pool["composite"], by, reason)

    def usage(self, name, of, by, reason):
        by = self.resources[by].observed
        if not of or not by:
            return
        usage = self.resources[name](USAGE, "Usage")
        usage.spec.of = reference(of)
        usage.spec.by = reference(by)
        usage.spec.reason = reason
        usage.spec.replayDeletion = True
        usage.ready = bool(usage.observed)

    def tell(self, pools, hosts, control_plane):
        status, composed = control_plane
        settled = all(resource.ready for _, resource in self.resources)
        self.status.phase = "Ready" if settled else "Provisioning"
        self.status.endpoints = status.endpoints
        self.status.consumedPools.hypervisor = [
            {"name": pool["name"], "status": phase(pool), "nodeCount": count}
            for pool, count in zip(self.hypervisors, hosts)
        ]
        self.status.consumedPools.storage = [
            {"name": pool["name"], "status": phase(pool)} for pool in self.storages
        ]
        ceph = {}
        for purpose, field in (("volumes", "volumePool"), ("images", "imagePool"), ("ephemeral", "ephemeralPool")):
            ceph[field] = {"name": f"{self.claim}-{purpose}", "status": pools[purpose]}
        first = self.storages[0]["name"]
        ceph["client"] = {"name": f"{self.claim}-cinder", "secretRef": f"ceph-cinder-{first}"}
        self.status.cephResources = ceph
        self.conditions.Accepted("Accepted", "", True, claim=True)
        self.conditions.PoolsReady("PoolsReady", "every pool can be consumed", True, claim=True)
        for part, waiting in self.waiting.items():
            message = f"waiting for {', '.join(waiting)}" if waiting else ""
            self.conditions[part]("Waiting" if waiting else "Ready", message, not waiting, claim=True)
        reason = "Ready" if composed.ready else "Waiting"
        self.conditions.ControlPlaneReady(reason, "", bool(composed.ready), claim=True)
        self.ready = settled
        self.ttl = 60 if settled else 15


SERVICES = {"glance": True, "nova": True, "neutron": True, "cinder": True, "octavia": False, "manila": False}
RBD = {
    "volumes": ("volumePool", 3, "aggressive"),
    "images": ("imagePool", 3, "aggressive"),
    "ephemeral": ("ephemeralPool", 2, "none"),
}
WRITES = {"cinder": ["volumes"], "glance": ["images"], "nova": ["volumes", "ephemeral"]}
READS = {"cinder": ["images"], "glance": [], "nova": ["images"]}


def is_ready(status):
    """Whether a status has the condition Ready."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in status.conditions)


def phase(pool):
    return str(pool["composite"].status.phase)


def reference(resource):
    return {
        "apiVersion": str(resource.apiVersion),
        "kind": str(resource.kind),
        "resourceRef": {"name": str(resource.metadata.name)},
    }


def trait(label, value):
    word = f"CUSTOM_{label}_{value}".upper()
    return "".join(character if character.isascii() and character.isalnum() else "_" for character in word)
