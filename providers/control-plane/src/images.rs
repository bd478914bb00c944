//! The images that operators of databases and message buses run, and how a site names others.

use provider_openstack::PublishedImage;

/// The images that mariadb-operator runs for a MariaDB and its backups, each with the setting of its chart that names another one
/// (<https://github.com/mariadb-operator/mariadb-operator/blob/v0.38.1/deploy/charts/mariadb-operator/values.yaml>).
pub const MARIADB: [(PublishedImage, &str); 4] = [
    (
        PublishedImage {
            registry: "docker-registry1.mariadb.com/library",
            name: "mariadb",
            tag: "11.4.5",
        },
        "mariadb-operator 0.38.1: config.mariadbImage",
    ),
    // Beside the members of Galera, and in Jobs of backups.
    (
        PublishedImage {
            registry: "docker-registry3.mariadb.com/mariadb-operator",
            name: "mariadb-operator",
            tag: "0.38.1",
        },
        "mariadb-operator 0.38.1: image.repository",
    ),
    (
        PublishedImage {
            registry: "docker.io/prom",
            name: "mysqld-exporter",
            tag: "v0.15.1",
        },
        "mariadb-operator 0.38.1: config.exporterImage",
    ),
    (
        PublishedImage {
            registry: "docker-registry2.mariadb.com/mariadb",
            name: "maxscale",
            tag: "23.08.5",
        },
        "mariadb-operator 0.38.1: config.maxscaleImage",
    ),
];

/// The image that the cluster operator runs for a RabbitMQ, with the variable of its environment that names another one
/// (<https://github.com/rabbitmq/cluster-operator/blob/v2.16.0/main.go>).
pub const RABBITMQ: (PublishedImage, &str) = (
    PublishedImage {
        registry: "docker.io/library",
        name: "rabbitmq",
        tag: "4.1.1-management",
    },
    "RabbitMQ's cluster-operator 2.16.0: DEFAULT_RABBITMQ_IMAGE",
);
