package ovn

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clusterID = "618fd7fb-82e8-49fc-90d9-73be342a6e86"

// memberStage is a stage for one member of the northbound database, with its number and how many are wanted.
func memberStage(t *testing.T, number, members, id string, programs map[string]string, env ...string) stage {
	t.Helper()
	all := map[string]string{
		"ovsdb-tool":   `case $1 in db-name) echo OVN_Northbound ;; schema-version) echo "${IMAGE_SCHEMA:-7.0.0}" ;; --*) echo file >"$3" ;; esac`,
		"ovs-appctl":   `case $3 in cluster/status) cat "$STAGE/status" ;; esac`,
		"ovsdb-client": `case $2 in get-schema-version) echo "${SCHEMA_NOW:-7.0.0}" ;; transact) echo '[{"count":1}]' ;; esac`,
	}
	maps.Copy(all, programs)
	s := newStage(t, all)
	s.env = append(s.env, append([]string{
		"DATABASE=OVN_Northbound", "SCHEMA=/usr/share/ovn-nb.ovsschema", "NAME=ovn-northbound", "DOMAIN=ovn-northbound.cloud.svc", "PORT=6641", "CHASSIS_PORT=",
		"RAFT_PORT=6643", "BACKLOG_BYTES=1048576", "POD_NAME=ovn-northbound-" + number, "POD_IP=10.0.0.1", "DATA=" + s.dir + "/data", "STATE=" + s.dir + "/state",
	}, env...)...)
	for file, text := range map[string]string{
		"state/members": members, "state/cluster-id": id, "state/election-timer": "4000", "state/inactivity-probe": "60000", "status": raftStatus("leader", "4000"),
	} {
		s.write(t, file, text)
	}
	return s
}

// raftStatus returns the output of ovsdb-server for a cluster of three desired members and one other member.
func raftStatus(role, timer string) string {
	return "1a2b\nName: OVN_Northbound\nStatus: cluster member\nRole: " + role + "\nLeader: self\nElection timer: " + timer + "\nServers:\n" +
		"    1a2b (1a2b at ssl:ovn-northbound-0.ovn-northbound.cloud.svc:6643) (self)\n" +
		"    3c4d (3c4d at ssl:ovn-northbound-1.ovn-northbound.cloud.svc:6643) last msg 100 ms ago\n" +
		"    5e6f (5e6f at ssl:ovn-northbound-2.ovn-northbound.cloud.svc:6643) last msg 30000 ms ago\n" +
		"    7a8b (7a8b at ssl:ovn-northbound-3.ovn-northbound.cloud.svc:6643) last msg 19999 ms ago\n" +
		"    9c0d (9c0d at ssl:ovn-northbound-4.ovn-northbound.cloud.svc:6643) last msg 20001 ms ago\n" +
		"    1122 (1122 at ssl:ovn-northbound-5.ovn-northbound.cloud.svc:6643)\n"
}

// TestMembersNeverCreateSecondCluster verifies that a member creates a cluster, joins one or waits, and that a second cluster is never
// created.
func TestMembersNeverCreateSecondCluster(t *testing.T) {
	at := func(n string) string { return "ssl:ovn-northbound-" + n + ".ovn-northbound.cloud.svc:6643" }
	create := func(from string) string {
		return "ovsdb-tool --election-timer=4000 create-cluster STAGE/data/OVN_Northbound.db.new " + from + " " + at("0") + "\n"
	}
	const schema = "/usr/share/ovn-nb.ovsschema"
	for name, tc := range map[string]struct {
		reason, number, targetMembers, id string
		file                              string // previous content of the file
		probe                             string // content of the state
		env                               []string
		log, called, after                string
		ok                                bool
	}{
		"Create": {reason: "No cluster is recorded.", number: "0", targetMembers: "1", log: "member: creates the cluster\n", called: create(schema), after: "file\n", ok: true},
		"Wait":   {reason: "The first creates it.", number: "1", targetMembers: "3", log: "member: waits until the first member's cluster is known\n"},
		"Join": {
			reason: "There is a cluster, and the others are named.", number: "1", targetMembers: "3", id: clusterID, log: "member: joins cluster " + clusterID + "\n",
			called: "ovsdb-tool --cid=" + clusterID + " join-cluster STAGE/data/OVN_Northbound.db.new OVN_Northbound " + at("1") + " " + at("0") + " " + at("2") + "\n",
			after:  "file\n", ok: true,
		},
		"First joins": {
			reason: "The first has lost its file: it joins as others do.", number: "0", targetMembers: "3", id: clusterID, log: "member: joins cluster " + clusterID + "\n",
			called: "ovsdb-tool --cid=" + clusterID + " join-cluster STAGE/data/OVN_Northbound.db.new OVN_Northbound " + at("0") + " " + at("1") + " " + at("2") + "\n",
			after:  "file\n", ok: true,
		},
		"Lost": {
			reason: "The only member has lost its file: it creates no empty database.", number: "0", targetMembers: "1", id: clusterID,
			log: "member: has no file of cluster " + clusterID + ", of which it is the only member: the data is lost; restore it from a backup\n",
		},
		"There":   {reason: "It has its file.", number: "0", targetMembers: "3", id: clusterID, file: "data\n", after: "data\n", ok: true},
		"Beyond":  {reason: "It is not wanted, and serves nothing.", number: "3", targetMembers: "3", id: clusterID, ok: true},
		"Unknown": {reason: "Its settings have not come yet.", number: "0", targetMembers: "1", probe: "none"},
		"Left": {
			reason: "It has left, and is wanted again: a cluster takes no member back, so it joins as a new one.", number: "1", targetMembers: "2", id: clusterID,
			file: "data {\"note\": \"left\"}", log: "member: removes the file of a member that has left\nmember: joins cluster " + clusterID + "\n",
			called: "ovsdb-tool --cid=" + clusterID + " join-cluster STAGE/data/OVN_Northbound.db.new OVN_Northbound " + at("1") + " " + at("0") + "\n",
			after:  "file\n", ok: true,
		},
		"Restore": {
			reason: "It is created of the newest copy.", number: "0", targetMembers: "1", env: bucket,
			log:    "takes the copy a/b/OVN_Northbound/20260401T000000Z.db.gz\nmember: creates the cluster\n",
			called: "ovsdb-tool db-name STAGE/data/restored.db\n" + create("STAGE/data/restored.db"), after: "file\n", ok: true,
		},
		"No copy": {
			reason: "Without the copy no database is created.", number: "0", targetMembers: "1", env: append([]string{"BEFORE=20200101T000000Z"}, bucket...),
			log: "there is no copy of OVN_Northbound in bucket copies below \"a/b/\" of 20200101T000000Z or before\n" +
				"member: cannot restore the database, and creates none\n",
		},
		"No credentials": {
			reason: "The Secret of the bucket comes later: a restarted container reads it.", number: "0", targetMembers: "1", env: []string{"BUCKET=copies"},
			log: "member: has no credentials of bucket copies yet, and creates no database without the copy\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			get := store + `case "$*" in *--output*) while [ "$1" != --output ]; do shift; done; echo database | gzip >"$2" ;; esac`
			s := memberStage(t, tc.number, tc.targetMembers, tc.id, map[string]string{"curl": get}, append(tc.env, "BUCKET_CA=/")...)
			if tc.file != "" {
				s.write(t, "data/OVN_Northbound.db", tc.file)
			}
			if tc.probe != "" {
				s.write(t, "state/inactivity-probe", "")
			}
			out, err := s.with(t, "member.sh", "prepare")
			var called strings.Builder
			for line := range strings.Lines(s.read("called")) {
				if !strings.HasPrefix(line, "curl ") {
					called.WriteString(line)
				}
			}
			if diff := cmp.Diff(tc.log, out) + cmp.Diff(tc.called, called.String()) + cmp.Diff(tc.after, s.read("data/OVN_Northbound.db")); (err == nil) != tc.ok || diff != "" {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
			if s.read("data/restored.db") != "" && tc.ok {
				t.Error("the copy stays on the volume")
			}
		})
	}
}

// TestRunningMemberAppliesSettings verifies that a running member applies the desired settings of the cluster.
func TestRunningMemberAppliesSettings(t *testing.T) {
	const control = "ovs-appctl --timeout=5 --target=STAGE/tmp/control "
	query := control + "cluster/status OVN_Northbound\n"
	bound := control + "cluster/set-backlog-threshold OVN_Northbound 500 1048576\n"
	kick := func(id string) string { return control + "cluster/kick OVN_Northbound " + id + "\n" }
	const setProbe = `ovsdb-client --timeout=10 transact unix:STAGE/tmp/database ["OVN_Northbound", {`
	for name, tc := range map[string]struct {
		reason, number, targetMembers, status string
		env                                   []string
		before                                string
		want                                  []string // lines of called, in order, by how they begin
		ok                                    bool
	}{
		"Follower": {"It limits the backlog for slow members, and changes nothing.", "0", "6", raftStatus("follower", "4000"), nil, "", []string{query, bound}, true},
		"Again":    {"The bound is set once.", "0", "6", raftStatus("follower", "4000"), nil, "bounded=1", []string{query}, true},
		"Leader": {
			"Surplus members are removed after 20 s without contact; the new schema and the probe are sent once.", "0", "3", raftStatus("leader", "4000"),
			[]string{"IMAGE_SCHEMA=7.1.0"}, "bounded=1", []string{
				query, "ovsdb-client --timeout=10 get-schema-version unix:STAGE/tmp/database OVN_Northbound\n", "ovsdb-tool schema-version /usr/share/ovn-nb.ovsschema\n",
				"ovsdb-client --timeout=60 convert unix:STAGE/tmp/database /usr/share/ovn-nb.ovsschema\n", setProbe, kick("9c0d"), kick("1122"),
			}, true,
		},
		"Older": {
			"An image of an earlier schema removes no columns.", "0", "6", raftStatus("leader", "4000"), []string{"IMAGE_SCHEMA=6.9.0"}, "bounded=1 told=60000",
			[]string{query, "ovsdb-client --timeout=10 get-schema-version unix:STAGE/tmp/database OVN_Northbound\n", "ovsdb-tool schema-version /usr/share/ovn-nb.ovsschema\n"}, true,
		},
		"Slower": {
			"The election timer is at most doubled.", "0", "6", raftStatus("leader", "1500"), nil, "bounded=1 told=60000 converted=1",
			[]string{query, control + "cluster/change-election-timer OVN_Northbound 3000\n"}, true,
		},
		"Faster": {
			"It is lowered in one step.", "0", "6", raftStatus("leader", "16000"), nil, "bounded=1 told=60000 converted=1",
			[]string{query, control + "cluster/change-election-timer OVN_Northbound 4000\n"}, true,
		},
		"Probe": {
			"The probe interval of clients is updated.", "0", "6", raftStatus("follower", "4000"), nil, "bounded=1 probed=1",
			[]string{query, control + "ovsdb-server/reload\n"}, true,
		},
		"Leaves": {"It is wanted no more.", "3", "3", raftStatus("follower", "4000"), nil, "bounded=1", []string{query, control + "cluster/leave OVN_Northbound\n"}, true},
		"Earlier": {
			"A previous member with its own address, from before it lost its file, is removed without a delay.", "1", "6", raftStatus("follower", "4000"), nil, "bounded=1",
			[]string{query, kick("3c4d")}, true,
		},
		"Lost": {"It is no member, and has no file: it starts again.", "0", "3", "Status: left cluster\n", nil, "", []string{query}, false},
		"Gone": {"It has left, and stays until its pod goes.", "3", "3", "Status: left cluster\n", nil, "", []string{query}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := memberStage(t, tc.number, tc.targetMembers, clusterID, nil, tc.env...)
			s.write(t, "status", tc.status)
			out, err := s.with(t, "member.sh", "stopping= converted= told= bounded= probed=60000 ip=10.0.0.1\n"+tc.before+"\ntend")
			if (err == nil) != tc.ok {
				t.Errorf("%s %v: %s", tc.reason, err, out)
			}
			rest := s.read("called")
			for _, want := range tc.want {
				if !strings.HasPrefix(rest, want) {
					t.Fatalf("%s\nwant %s\ngot  %s\n%s", tc.reason, want, rest, out)
				}
				rest = strings.TrimPrefix(rest, want)
				if !strings.HasSuffix(want, "\n") { // The message has several lines.
					_, rest, _ = strings.Cut(rest, "}]\n")
				}
			}
			if rest != "" {
				t.Errorf("%s It also calls %s", tc.reason, rest)
			}
		})
	}
}

// TestMemberProbeInterval verifies that northd's probe interval is the clients' interval, once northd has written its row.
func TestMemberProbeInterval(t *testing.T) {
	for answer, want := range map[string]string{`[{"count":1}]`: "60000", `[{"count":0}]`: ""} {
		s := memberStage(t, "0", "1", clusterID, map[string]string{"ovsdb-client": "echo '" + answer + "'"})
		out, _ := s.with(t, "member.sh", "probed=60000 told=\ntell\necho \"$told\"")
		if out != want+"\n" {
			t.Errorf("after %s it has sent %q, want %q", answer, out, want)
		}
		text := strings.Join(strings.Fields(s.read("called")), " ")
		for _, part := range []string{
			`"op": "mutate", "table": "NB_Global", "where": []`, `["options", "delete", ["set", ["northd_probe_interval"]]]`,
			`["options", "insert", ["map", [["northd_probe_interval", "60000"]]]]`,
		} {
			if !strings.Contains(text, part) {
				t.Errorf("it sends %s, without %s", text, part)
			}
		}
	}
	s := memberStage(t, "0", "1", clusterID, nil, "DATABASE=OVN_Southbound")
	if out, _ := s.with(t, "member.sh", "probed=60000 told=\ntell\necho \"$told\""); out != "60000\n" || s.read("called") != "" {
		t.Errorf("the southbound database receives %s: %s", out, s.read("called"))
	}
}

// TestLeaderStopsGracefully verifies that a leader is stopped gracefully, so that it hands over, and killed only if it does not respond.
func TestLeaderStopsGracefully(t *testing.T) {
	for answer, want := range map[string]string{"": "", "exit 1": "killed\n"} {
		s := memberStage(t, "0", "1", clusterID, map[string]string{"ovs-appctl": answer})
		out, err := s.with(t, "member.sh", "kill() { echo killed; }\nserver=1\nstop\n[ \"$stopping\" = 1 ]")
		if called := s.read("called"); err != nil || out != want || called != "ovs-appctl --timeout=5 --target=STAGE/tmp/control exit\n" {
			t.Errorf("%v: %s, after %s", err, out, called)
		}
	}
}

// TestReadinessRequiresClusterWithLeader verifies that a member is ready in a cluster with a leader, and alive while its server responds or
// it waits for a cluster.
func TestReadinessRequiresClusterWithLeader(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, status string
		ready          bool
	}{
		"Member":    {"It has joined a cluster.", raftStatus("follower", "4000"), true},
		"No leader": {"Nothing can be written.", "Status: cluster member\nLeader: unknown\n", false},
		"Joining":   {"It has nothing yet.", "Status: joining cluster\nLeader: unknown\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := memberStage(t, "0", "3", clusterID, nil)
			s.write(t, "status", tc.status)
			if out, err := s.run(t, "member.sh", "ready"); (err == nil) != tc.ready {
				t.Errorf("%s It is ready: %v: %s", tc.reason, err, out)
			}
		})
	}
	s := memberStage(t, "0", "3", clusterID, map[string]string{"ovs-appctl": "exit 1"})
	if _, err := s.run(t, "member.sh", "ready"); err == nil {
		t.Error("it is ready without a server")
	}
	if _, err := s.run(t, "member.sh", "alive"); err == nil {
		t.Error("it is alive without a server")
	}
	s.write(t, "tmp/waiting", "")
	if _, err := s.run(t, "member.sh", "alive"); err != nil {
		t.Error("it is not alive while it waits for its cluster")
	}
}

// TestMemberServesFileAtItsAddress verifies that the member serves its file at its address, and exits with its server.
func TestMemberServesFileAtItsAddress(t *testing.T) {
	for ip, address := range map[string]string{"10.0.0.1": "10.0.0.1", "fd00::1": "[fd00::1]"} {
		s := memberStage(t, "0", "1", clusterID, map[string]string{"ovsdb-server": "", "sleep": ""}, "POD_IP="+ip)
		s.write(t, "data/OVN_Northbound.db", "data\n")
		s.write(t, "tmp/waiting", "")
		if out, err := s.run(t, "member.sh"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := `{
  "remotes": {"pssl:6641:` + address + `": {"inactivity-probe": 60000}, "punix:STAGE/tmp/database": {}},
  "databases": {"STAGE/data/OVN_Northbound.db": {}}
}
`
		if diff := cmp.Diff(want, s.read("tmp/server.json")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		serves := "ovsdb-server --config-file=STAGE/tmp/server.json --unixctl=STAGE/tmp/control -vconsole:info -vsyslog:off " +
			"--private-key=/tls/tls.key --certificate=/tls/tls.crt --ca-cert=/tls/ca.crt\n"
		if got := s.read("called"); !strings.Contains(got, serves) {
			t.Errorf("it calls %s", got)
		}
	}
	// The southbound database serves nodes at another port, with a role that limits their writes.
	south := memberStage(t, "0", "1", clusterID, map[string]string{"ovsdb-server": "", "sleep": ""},
		"CHASSIS_PORT=6645", "CHASSIS_ROLE=ovn-controller", "POD_IP=10.0.0.1")
	south.write(t, "data/OVN_Northbound.db", "data\n")
	if out, err := south.run(t, "member.sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const remotes = `"remotes": {"pssl:6641:10.0.0.1": {"inactivity-probe": 60000}, ` +
		`"pssl:6645:10.0.0.1": {"role": "ovn-controller", "inactivity-probe": 60000}, "punix:`
	if got := south.read("tmp/server.json"); !strings.Contains(got, remotes) {
		t.Errorf("it serves %s", got)
	}
	// The server of one that is wanted no more, and has no file, serves nothing.
	s := memberStage(t, "3", "3", clusterID, map[string]string{"ovsdb-server": "", "sleep": ""})
	if out, err := s.run(t, "member.sh"); err != nil || !strings.Contains(s.read("tmp/server.json"), `"databases": {}`) {
		t.Errorf("%v: %s: %s", err, out, s.read("tmp/server.json"))
	}
}
