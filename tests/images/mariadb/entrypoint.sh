# Makes the database on an empty volume, with root's password from the environment, and starts the server.

set -eu
data=/var/lib/mysql
first=/run/mysqld/first.sql
: > "$first"
if [ ! -d "$data/mysql" ]; then
    new=yes
    mariadb-install-db --no-defaults --datadir="$data" --skip-test-db --auth-root-authentication-method=normal > /dev/null
fi
# A member that joins a Galera cluster gets the users from the others. mariadb-operator says which one is the first.
galera=/etc/mysql/mariadb.conf.d
if [ -n "${new:-}" ] && { [ ! -e $galera/0-galera.cnf ] || [ -e $galera/1-bootstrap.cnf ]; }; then
    cat > "$first" <<SQL
CREATE USER 'root'@'${MARIADB_ROOT_HOST}' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD}';
GRANT ALL ON *.* TO 'root'@'${MARIADB_ROOT_HOST}' WITH GRANT OPTION;
ALTER USER 'root'@'localhost' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD}';
SQL
fi
exec mariadbd --datadir="$data" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid \
    --port="$MYSQL_TCP_PORT" --skip-name-resolve --init-file="$first" "$@"
