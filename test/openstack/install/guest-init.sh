#!/bin/busybox sh
# The first process of a guest: it loads what its devices need, takes an address, serves what it knows, and asks who it is. What it does is
# on its console, in lines that begin with "guest".
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
exec >/dev/console 2>&1
now() { cut -d' ' -f1 /proc/uptime; }

while read -r module; do
  [ ! -e "/lib/modules/$module.ko" ] || insmod "/lib/modules/$module.ko"
done </etc/modules
echo "guest started after $(now) s"
ip link set lo up
ip link set eth0 up
udhcpc -i eth0 -s /etc/lease -t 60 -T 1 -O staticroutes -O mtu -b

mkdir -p /www
# What it finds when it starts: the number on its disk (below), the disk's sectors, and its memory in KiB.
number=$(dd if=/dev/vda bs=512 count=1 2>/dev/null | tr -cd '0-9')
echo "${number:-0} $(cat /sys/block/vda/size) $(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)" >/www/found

# It counts seconds, so that one sees that it went on, and was not started again.
# The same number is on its disk, if the kernel's command line has the word counts.
counts=$(grep -c -w counts /proc/cmdline)
(n=0; while :; do
  n=$((n + 1)); echo "$n" >/tmp/n; mv /tmp/n /www/seconds
  [ "$counts" = 0 ] || echo "$n" | dd of=/dev/vda bs=512 conv=sync,fsync 2>/dev/null || echo "guest cannot write $n"
  sleep 1
done) &
mkdir -p /www/cgi-bin
cat >/www/cgi-bin/metadata <<'END'
#!/bin/busybox sh
echo "Content-Type: text/plain"
echo
timeout 5 wget -q -O - http://169.254.169.254/latest/meta-data/instance-id
END
chmod +x /www/cgi-bin/metadata
# A line for each disk: its serial number, which is the beginning of a volume's ID, and what it begins with. disks?SERIAL=TEXT writes first.
cat >/www/cgi-bin/disks <<'END'
#!/bin/busybox sh
echo "Content-Type: text/plain"
echo
for disk in /sys/block/vd*; do
  serial=$(cat "$disk/serial") device=/dev/${disk##*/}
  [ "$serial" != "${QUERY_STRING%%=*}" ] || printf %s "${QUERY_STRING#*=}" | dd of="$device" bs=64 conv=sync,notrunc,fsync 2>/dev/null
  echo "$serial $(head -c 64 "$device" | tr -d '\000')"
done
END
chmod +x /www/cgi-bin/disks
/www/cgi-bin/disks | sed '1,2d; s/^/guest has a disk: /'
# Numbers from 1 on, each in a sector of its own, and on the disk before the next one. /www/writes has the last one, how many writes have
# failed, which are tried again, and the longest of them, in hundredths of a second.
cat >/bin/numbers <<'END'
#!/bin/busybox sh
n=0 failed=0 longest=0
uptime() { read -r up rest </proc/uptime; up=${up%.*}${up#*.}; }
until [ -e /tmp/enough ]; do
  uptime; begin=$up
  if echo "$((n + 1))" | dd of="$1" bs=512 seek="$((n + 1))" conv=sync,notrunc,fsync; then
    n=$((n + 1))
  else
    failed=$((failed + 1)); echo "guest cannot write $((n + 1))" >/dev/console
  fi
  uptime; [ "$((up - begin))" -le "$longest" ] || longest=$((up - begin))
  echo "$n $failed $longest" >/tmp/writes; mv /tmp/writes /www/writes
  sleep 0.1
done
rm /tmp/enough
END
# writes?SERIAL begins to write them on a disk, writes ends it.
cat >/www/cgi-bin/writes <<'END'
#!/bin/busybox sh
echo "Content-Type: text/plain"
echo
if [ -z "$QUERY_STRING" ]; then
  touch /tmp/enough
  while [ -e /tmp/enough ]; do sleep 0.1; done
  cat /www/writes
  exit
fi
for disk in /sys/block/vd*; do
  if [ "$(cat "$disk/serial")" = "$QUERY_STRING" ]; then numbers "/dev/${disk##*/}" </dev/null >/dev/null 2>&1 & fi
done
END
chmod +x /bin/numbers /www/cgi-bin/writes
cat >/www/cgi-bin/disk <<'END'
#!/bin/busybox sh
# What is on the disk itself, and not what memory has of it.
echo "Content-Type: text/plain"
echo
echo 3 >/proc/sys/vm/drop_caches
dd if=/dev/vda bs=512 count=1 2>/dev/null | tr -d '\0'
END
chmod +x /www/cgi-bin/disk
httpd -p 80 -h /www
echo "guest serves after $(now) s"

for path in openstack/latest/meta_data.json latest/meta-data/public-ipv4; do
  until timeout 5 wget -q -O "/tmp/${path##*/}" "http://169.254.169.254/$path"; do sleep 1; done
  mv "/tmp/${path##*/}" /www/
done
echo "guest has its metadata after $(now) s: $(head -c 200 /www/meta_data.json)"
while :; do sleep 1000; done
