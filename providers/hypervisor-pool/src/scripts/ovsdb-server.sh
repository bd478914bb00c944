# The database of Open vSwitch outlives the pod, so that ports of running servers keep their places.
database=/var/lib/openvswitch/conf.db
schema=/usr/share/openvswitch/vswitch.ovsschema
if [ ! -e "$database" ]; then
    ovsdb-tool create "$database" "$schema"
elif [ "$(ovsdb-tool needs-conversion "$database" "$schema")" = yes ]; then
    ovsdb-tool convert "$database" "$schema"
fi
exec ovsdb-server "$database" --remote=punix:/run/openvswitch/db.sock \
    --unixctl=/run/openvswitch/ovsdb-server.ctl --pidfile=/run/openvswitch/ovsdb-server.pid
