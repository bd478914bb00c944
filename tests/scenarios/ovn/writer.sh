tls=/etc/ovn/tls
number=0
while [ ! -e /tmp/stop ]; do
    number=$((number + 1))
    start=$(date +%s%3N)
    until ovn-nbctl --timeout=30 --db="$NORTHBOUND" --private-key=$tls/tls.key --certificate=$tls/tls.crt \
        --ca-cert=$tls/ca.crt --may-exist ls-add "written-$number"; do sleep 0.2; done
    echo "$number $(($(date +%s%3N) - start))"
    sleep 0.2
done
echo done
