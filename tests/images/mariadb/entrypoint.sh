# Makes the database on an empty volume, with root's password from the environment, and starts the server. The first of a Galera cluster is
# made by a Job of mariadb-operator instead.

set -eu
data=/var/lib/mysql
if [ ! -d "$data/mysql" ]; then
    mariadb-install-db --no-defaults --datadir="$data" --skip-test-db --auth-root-authentication-method=normal > /dev/null
    # mariadb-install-db makes root of each loopback address, without a password; they would count before the one of any host. A member that
    # joins a Galera cluster gets the users of the others in place of these.
    mariadbd --no-defaults --bootstrap --datadir="$data" <<SQL
FLUSH PRIVILEGES;
DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1';
CREATE USER 'root'@'${MARIADB_ROOT_HOST}' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD}';
GRANT ALL ON *.* TO 'root'@'${MARIADB_ROOT_HOST}' WITH GRANT OPTION;
ALTER USER 'root'@'localhost' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD}';
SQL
fi
exec mariadbd --datadir="$data" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid \
    --port="$MYSQL_TCP_PORT" --skip-name-resolve "$@"
