# A Ceph of one monitor, one manager and one OSD, with the pools and clients of "$@": POOL, or CLIENT|MON|OSD|MGR with what it may do, by the
# kind of daemon. /data is on a disk.
set -eu
cd /data
export CEPH_CONF=/data/ceph.conf
monitor="[v2:$POD_IP:3300,v1:$POD_IP:6789]"

cat >ceph.conf <<END
[global]
fsid = $FSID
mon_host = $monitor
public_addr = $POD_IP
cluster_addr = $POD_IP
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
auth_allow_insecure_global_id_reclaim = false
run_dir = /tmp
admin_socket = /tmp/\$name.\$pid.asok
keyring = /data/\$name.keyring
log_file =
log_to_stderr = true
log_to_file = false
mon_cluster_log_to_file = false
# One OSD, on a disk that may be fuller than a cluster's.
osd_pool_default_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_data_avail_warn = 3
mon_data_avail_crit = 1
mgr_initial_modules = iostat
osd_objectstore = bluestore
bluestore_block_size = 2147483648
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
osd_memory_target = 939524096
[mon]
mon_data = /data/\$name
keyring = /data/mon.keyring
[mgr]
mgr_data = /data/\$name
[osd]
osd_data = /data/\$name
END

ceph-authtool -C mon.keyring --gen-key -n mon. --cap mon 'allow *'
ceph-authtool -C client.admin.keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
ceph-authtool mon.keyring --import-keyring client.admin.keyring
monmaptool --create --fsid "$FSID" --addv a "$monitor" --set-min-mon-release reef monmap
mkdir mon.a mgr.x osd.0
ceph-mon --mkfs -i a --monmap monmap --keyring mon.keyring
ceph-mon -f -i a --public-addrv "$monitor" &
echo $! >/data/mon.pid
until ceph --connect-timeout 5 status >/dev/null 2>&1; do sleep 0.2; done

# No module of this manager loads with Debian's bcrypt, which refuses to be loaded twice in a process; none of them needs it.
mkdir python
printf 'def gensalt(*a): raise NotImplementedError\nhashpw = gensalt\n' >python/bcrypt.py
ceph auth get-or-create mgr.x mon 'allow profile mgr' osd 'allow *' >mgr.x.keyring
PYTHONPATH=/data/python ceph-mgr -f -i x &

ceph-authtool -C osd.0.keyring --gen-key -n osd.0
uuid=$(cat /proc/sys/kernel/random/uuid)
printf '{"cephx_secret": "%s"}' "$(ceph-authtool -p -n osd.0 osd.0.keyring)" | ceph osd new "$uuid" 0 -i -
ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
# The folder of its classes is relative in Debian's. One that ends begins again, as in Kubernetes.
(cd / && while :; do
  ceph-osd -f -i 0 &
  echo $! >/data/osd.pid
  wait $! || echo "the OSD has ended: $?"
done) &

for entry in "$@"; do
  case $entry in
  *'|'*)
    IFS='|' read -r client mon osd mgr <<<"$entry"
    ceph auth get-or-create "client.$client" mon "$mon" osd "$osd" ${mgr:+mgr "$mgr"} >"client.$client.keyring"
    ;;
  *)
    ceph osd pool create "$entry" 8
    rbd pool init "$entry"
    ;;
  esac
done
# What is full of this machine's disk is no concern.
until ceph health | grep -Eq 'HEALTH_OK|HEALTH_WARN mon a is low on available space$'; do sleep 0.2; done
touch ready
wait
