package ovn

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stage is a folder with our scripts and stand-ins for the programs that they call. Scripts use its folder tmp in place of /tmp.
type stage struct {
	dir string
	env []string
}

// newStage returns a stage with stub programs, given as shell commands. Their arguments are recorded in the file "called".
func newStage(t *testing.T, programs map[string]string, env ...string) stage {
	t.Helper()
	s := stage{dir: t.TempDir()}
	for _, folder := range []string{"bin", "tmp", "state", "data"} {
		if err := os.Mkdir(filepath.Join(s.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) != 5 {
		t.Fatalf("%v, %v", scripts, err)
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, name, strings.ReplaceAll(string(data), "/tmp/", s.dir+"/tmp/"))
	}
	for name, commands := range programs {
		s.write(t, "bin/"+name, "#!/bin/sh\necho \""+name+" $*\" >>\""+s.dir+"/called\"\n"+commands+"\n")
	}
	s.env = append([]string{"PATH=" + s.dir + "/bin:" + os.Getenv("PATH"), "STAGE=" + s.dir, "TLS=/tls"}, env...)
	return s
}

func (s stage) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file with the stage's folder as STAGE, or an empty string if it does not exist.
func (s stage) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.dir, name))
	return strings.ReplaceAll(string(data), s.dir, "STAGE")
}

func (s stage) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(string(out), s.dir, "STAGE"), err
}

// with runs commands after the functions of a script are defined, without its main part.
func (s stage) with(t *testing.T, script, commands string) (string, error) {
	t.Helper()
	functions, _, found := strings.Cut(s.read(script), "\ncase ${1:-run} in\n")
	if !found {
		functions = s.read(script)
	}
	s.write(t, "part.sh", strings.ReplaceAll(functions, "STAGE/", s.dir+"/")+"\n"+commands+"\n")
	return s.run(t, "part.sh")
}

func TestNorthd(t *testing.T) {
	s := newStage(t, map[string]string{"ovn-northd": ""}, "NORTHBOUND=ssl:a:6641,ssl:b:6641", "SOUTHBOUND=ssl:c:6642")
	if out, err := s.run(t, "northd.sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "ovn-northd --ovnnb-db=ssl:a:6641,ssl:b:6641 --ovnsb-db=ssl:c:6642 --unixctl=STAGE/tmp/northd -vconsole:info -vsyslog:off " +
		"--private-key=/tls/tls.key --certificate=/tls/tls.crt --ca-cert=/tls/ca.crt\n"
	if diff := cmp.Diff(want, s.read("called")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		reason, nb, sb string
		ready          bool
	}{
		"Both": {"It reads one and writes the other.", "connected", "connected", true}, "North": {"It can write nothing.", "connected", "not connected", false},
		"South": {"It can read nothing.", "not connected", "connected", false}, "None": {"It does nothing.", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, map[string]string{"ovs-appctl": `case $3 in nb-*) echo "` + tc.nb + `" ;; sb-*) echo "` + tc.sb + `" ;; *) exit 1 ;; esac`})
			if _, err := s.run(t, "northd.sh", "ready"); (err == nil) != tc.ready {
				t.Errorf("%s It is ready: %v", tc.reason, err)
			}
		})
	}
	for commands, alive := range map[string]bool{"": true, "exit 1": false} {
		s := newStage(t, map[string]string{"ovs-appctl": commands})
		if _, err := s.run(t, "northd.sh", "alive"); (err == nil) != alive {
			t.Errorf("it is alive: %v, want %t", err, alive)
		}
		if got, want := s.read("called"), "ovs-appctl --timeout=5 --target=STAGE/tmp/northd version\n"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRelayScript(t *testing.T) {
	for ip, address := range map[string]string{"10.0.0.1": "10.0.0.1", "fd00::1": "[fd00::1]"} {
		s := newStage(t, map[string]string{"ovsdb-server": "", "ovsdb-client": `[ "$STATE" = connected ]`, "ovs-appctl": ""},
			"DATABASE=OVN_Southbound", "SOURCE=ssl:a:6642,ssl:b:6642", "PORT=6642", "CHASSIS_PORT=6645", "CHASSIS_ROLE=ovn-controller",
			"POD_IP="+ip, "PROBE_MILLISECONDS=60000")
		if out, err := s.run(t, "relay.sh"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := `{
  "remotes": {
    "pssl:6642:` + address + `": {"inactivity-probe": 60000},
    "pssl:6645:` + address + `": {"role": "ovn-controller", "inactivity-probe": 60000},
    "punix:STAGE/tmp/database": {}
  },
  "databases": {"OVN_Southbound": {"service-model": "relay", "source": {"ssl:a:6642,ssl:b:6642": {"inactivity-probe": 60000}}}}
}
ovsdb-server --config-file=STAGE/tmp/server.json --unixctl=STAGE/tmp/control -vconsole:info -vsyslog:off ` +
			"--private-key=/tls/tls.key --certificate=/tls/tls.crt --ca-cert=/tls/ca.crt\n"
		if diff := cmp.Diff(want, s.read("tmp/server.json")+s.read("called")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for state, ready := range map[string]bool{"connected": true, "": false} {
			s.env = append(s.env, "STATE="+state)
			if _, err := s.run(t, "relay.sh", "ready"); (err == nil) != ready {
				t.Errorf("with its source %q it is ready: %v", state, err)
			}
		}
		if !strings.Contains(s.read("called"), "ovsdb-client --timeout=5 wait unix:STAGE/tmp/database OVN_Southbound connected\n") {
			t.Errorf("it requests %s", s.read("called"))
		}
		if _, err := s.run(t, "relay.sh", "alive"); err != nil {
			t.Errorf("it is not alive: %v", err)
		}
	}
}

// bucket are variables of a bucket.
var bucket = []string{
	"BUCKET=copies", "ENDPOINT=s3.example.com:443", "REGION=eu", "PREFIX=a/b/", "ACCESS_KEY_ID=id", `SECRET_ACCESS_KEY=se"cr\et`, "BUCKET_CA=/ca.crt",
}

// store is a stub of curl that lists files below objects, two at a time, and records its settings in "login".
const store = `cat >"$STAGE/login"
for last; do :; done
case $last in
*%2Fowner)
  database=${last%%%2Fowner} && database=${database##*%2F}
  [ -z "${OWNER:-}" ] || echo "<L><IsTruncated>false</IsTruncated><C><Key>a/b/$database/owner.old</Key></C><C><Key>a/b/$database/owner</Key></C></L>"
  ;;
*/owner) case "$*" in *" --request GET "*) echo "$OWNER" ;; esac ;;
*list-type=2*)
  case $last in
  *prefix=a%2Fb%2FOVN_Northbound%2F*) ;;
  *prefix=a%2Fb%2FOVN_Southbound%2F*) echo "<L><IsTruncated>false</IsTruncated></L>" && exit 0 ;;
  *) exit 22 ;;
  esac
  case $last in
  *start-after=a%2Fb%2FOVN_Northbound%2F20260102T000000Z.db.gz) echo "<L><IsTruncated>false</IsTruncated><C><Key>a/b/OVN_Northbound/20260401T000000Z.db.gz</Key></C></L>" ;;
  *start-after*) exit 22 ;;
  *) echo "<L><IsTruncated>true</IsTruncated><C><Key>a/b/OVN_Northbound/20260101T000000Z.db.gz</Key></C><C><Key>a/b/OVN_Northbound/other</Key></C><C><Key>a/b/OVN_Northbound/20260102T000000Z.db.gz</Key></C></L>" ;;
  esac
  ;;
esac
`

func TestBucketScriptFindsAllCopies(t *testing.T) {
	s := newStage(t, map[string]string{"curl": store}, bucket...)
	out, err := s.with(t, "bucket.sh", "copies OVN_Northbound")
	want := "a/b/OVN_Northbound/20260101T000000Z.db.gz\na/b/OVN_Northbound/20260102T000000Z.db.gz\na/b/OVN_Northbound/20260401T000000Z.db.gz\n"
	if err != nil || out != want {
		t.Errorf("want the copies of all pages, and no other files: %v\n%s", err, out)
	}
	if got, want := s.read("login"), `user = "id:se\"cr\\et"`+"\n"; got != want {
		t.Errorf("settings of curl %s, want %s", got, want)
	}
	called, _, _ := strings.Cut(s.read("called"), "\n")
	if want := "curl --config - --silent --show-error --fail --retry 3 --retry-max-time 120 --connect-timeout 20 --max-time 600 --speed-limit 1 --speed-time 30 --aws-sigv4 aws:amz:eu:s3 --cacert /ca.crt " +
		"--request GET https://s3.example.com:443/copies/?list-type=2&prefix=a%2Fb%2FOVN_Northbound%2F"; called != want {
		t.Errorf("got  %s\nwant %s", called, want)
	}
	for name, tc := range map[string]struct{ reason, before, named, want string }{
		"Newest": {"The last one.", "", "OVN_Northbound", "takes the copy a/b/OVN_Northbound/20260401T000000Z.db.gz\n"},
		"Then":   {"The last one that is no later.", "20260102T000000Z", "OVN_Northbound", "takes the copy a/b/OVN_Northbound/20260102T000000Z.db.gz\n"},
		"Before": {
			"There is no copy yet.", "20251231T000000Z", "OVN_Northbound",
			"there is no copy of OVN_Northbound in bucket copies below \"a/b/\" of 20251231T000000Z or before\nfails\n",
		},
		"Another": {"The file belongs to another database.", "", "OVN_Southbound", "takes the copy a/b/OVN_Northbound/20260401T000000Z.db.gz\nfails\n"},
	} {
		t.Run(name, func(t *testing.T) {
			get := store + `case "$*" in *--output*) while [ "$1" != --output ]; do shift; done; echo database | gzip >"$2" ;; esac`
			s := newStage(t, map[string]string{"curl": get, "ovsdb-tool": "echo " + tc.named}, append(bucket, "BEFORE="+tc.before)...)
			out, err := s.with(t, "bucket.sh", `fetch OVN_Northbound "$STAGE/restored" || echo fails`)
			if err != nil || out != tc.want {
				t.Errorf("%s %v: %s, want %s", tc.reason, err, out, tc.want)
			}
			if !strings.HasSuffix(tc.want, "fails\n") && s.read("restored") != "database\n" {
				t.Errorf("the copy is %q", s.read("restored"))
			}
		})
	}
	s = newStage(t, map[string]string{"curl": "exit 22"}, bucket...)
	if out, err := s.with(t, "bucket.sh", `fetch OVN_Northbound "$STAGE/restored"`); err == nil {
		t.Errorf("it takes a copy of a bucket that it cannot read: %s", out)
	}
}

// TestSnapshot verifies that each database is copied, and that expired copies are removed, except of a database that could not be copied.
func TestSnapshot(t *testing.T) {
	date := `case "$*" in "-u +%Y%m%dT%H%M%SZ") echo 20260501T030000Z ;; "-u -d -30 days +%Y%m%dT%H%M%SZ") echo 20260401T030000Z ;; *) exit 1 ;; esac`
	for name, tc := range map[string]struct {
		reason, fails, named string
		// away is a pattern of requests to the bucket that fail.
		away          string
		puts, deletes []string
		ok            bool
	}{
		"Good": {
			"Both, and three copies of one are too old.", "none", `echo "$2" | sed 's|.*/||; s|.db$||'`, "none",
			[]string{"a/b/OVN_Northbound/20260501T030000Z.db.gz", "a/b/OVN_Southbound/20260501T030000Z.db.gz"},
			[]string{"OVN_Northbound/20260101T000000Z.db.gz", "OVN_Northbound/20260102T000000Z.db.gz", "OVN_Northbound/20260401T000000Z.db.gz"}, true,
		},
		"Away": {
			"The northbound members do not answer: its copies stay, and the other one is made.", "OVN_Northbound", `echo "$2" | sed 's|.*/||; s|.db$||'`, "none",
			[]string{"a/b/OVN_Southbound/20260501T030000Z.db.gz"}, nil, false,
		},
		"Broken": {"The received file is not such a database.", "none", "echo other", "none", nil, nil, false},
		"ListFails": {
			"The Job fails if old copies stay because they cannot be listed.", "none", `echo "$2" | sed 's|.*/||; s|.db$||'`, "GET",
			[]string{"a/b/OVN_Northbound/20260501T030000Z.db.gz", "a/b/OVN_Southbound/20260501T030000Z.db.gz"}, nil, false,
		},
		"RemovalFails": {
			"The Job fails if one old copy stays, and removes the others.", "none", `echo "$2" | sed 's|.*/||; s|.db$||'`, "DELETE*20260101",
			[]string{"a/b/OVN_Northbound/20260501T030000Z.db.gz", "a/b/OVN_Southbound/20260501T030000Z.db.gz"},
			[]string{"OVN_Northbound/20260101T000000Z.db.gz", "OVN_Northbound/20260102T000000Z.db.gz", "OVN_Northbound/20260401T000000Z.db.gz"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, map[string]string{
				"curl": "case \"$*\" in *owner) ;; *" + tc.away + "*) exit 22 ;; esac\n" + store, "date": date, "ovsdb-tool": withRow(tc.named),
				"ovsdb-client": `for last; do :; done; [ "$last" != ` + tc.fails + ` ] && echo data`,
			}, append(bucket, "DATABASES=OVN_Northbound=ssl:a:6641,ssl:b:6641 OVN_Southbound=ssl:c:6642", "DAYS=30", "INSTANCE=cloud/ovn")...)
			out, err := s.run(t, "snapshot.sh")
			if (err == nil) != tc.ok {
				t.Errorf("%s %v: %s", tc.reason, err, out)
			}
			var puts, deletes []string
			for line := range strings.Lines(s.read("called")) {
				line = strings.TrimSuffix(line, "\n")
				if _, rest, ok := strings.Cut(line, "--request PUT --upload-file "); ok && !strings.HasSuffix(rest, "/owner") {
					file, at, _ := strings.Cut(rest, " https://s3.example.com:443/copies/")
					database := strings.Split(at, "/")[2]
					if file != "STAGE/tmp/"+database+".db.gz" {
						t.Errorf("%s is copied to %s", file, at)
					}
					puts = append(puts, at)
				}
				if _, rest, ok := strings.Cut(line, "--request DELETE https://s3.example.com:443/copies/a/b/"); ok {
					deletes = append(deletes, rest)
				}
				if strings.HasPrefix(line, "ovsdb-client") && !strings.HasPrefix(line, "ovsdb-client --timeout=300 --private-key=/tls/tls.key "+
					"--certificate=/tls/tls.crt --ca-cert=/tls/ca.crt backup ssl:") {
					t.Errorf("a database is read by %s", line)
				}
			}
			if diff := cmp.Diff(tc.puts, puts) + cmp.Diff(tc.deletes, deletes); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, out)
			}
			if remaining, _ := filepath.Glob(s.dir + "/tmp/*.gz"); tc.ok && len(remaining) > 0 {
				t.Errorf("%v stay", remaining)
			}
		})
	}
}

// withRow returns the commands of an ovsdb-tool whose databases have one row in each table.
func withRow(named string) string {
	return `case $1 in query) echo "$3" >>"$STAGE/queries" && echo '[{"rows":[{"_uuid":["uuid","56ee8c5c-99ed"]}]}]' ;; *) ` + named + ` ;; esac`
}

// TestSnapshot_Owner verifies that a folder of a bucket has copies of one database only: copies of another database would be restored in
// its place, and removed with its retention.
func TestSnapshot_Owner(t *testing.T) {
	const named = `echo "$2" | sed 's|.*/||; s|.db$||'`
	for name, tc := range map[string]struct {
		reason, owner string
		// fails is a pattern of requests to the bucket that fail, and tool the commands of ovsdb-tool.
		fails, tool string
		want        string // uploaded objects
		message     string
	}{
		"first": {reason: "The folder is new, or of an earlier version.", tool: withRow(named), want: "owner copy"},
		"own":   {reason: "It continues, also after a restore.", owner: "cloud/ovn 56ee8c5c-99ed", tool: withRow(named), want: "copy"},
		"other name": {
			reason: "Another control plane was created from a copy.", owner: "staging/ovn 56ee8c5c-99ed", tool: withRow(named),
			message: "has copies of another database (staging/ovn 56ee8c5c-99ed; this one is cloud/ovn 56ee8c5c-99ed); set another prefix",
		},
		"other cluster": {
			reason: "Another management cluster has a claim of this name.", owner: "cloud/ovn 11111111-99ed", tool: withRow(named),
			message: "has copies of another database",
		},
		"not listed": {reason: "The owner is unknown.", fails: "list-type=2*owner", tool: withRow(named), message: "cannot be read"},
		"not read": {
			reason: "The owner is unknown.", owner: "cloud/ovn 56ee8c5c-99ed", fails: "GET*/owner", tool: withRow(named), message: "cannot be read",
		},
		"empty": {reason: "Nothing identifies the database yet.", tool: `case $1 in query) echo '[{"rows":[]}]' ;; *) ` + named + ` ;; esac`, message: "no row in NB_Global"},
	} {
		t.Run(name, func(t *testing.T) {
			programs := map[string]string{"curl": store, "ovsdb-tool": tc.tool, "ovsdb-client": "echo data"}
			if tc.fails != "" {
				programs["curl"] = `case "$*" in *` + tc.fails + ") exit 22 ;; esac\n" + store
			}
			s := newStage(t, programs, append(bucket, "DATABASES=OVN_Northbound=ssl:a:6641", "DAYS=30000", "INSTANCE=cloud/ovn", "OWNER="+tc.owner)...)
			out, err := s.run(t, "snapshot.sh")
			if (err == nil) != (tc.message == "") || !strings.Contains(out, tc.message) {
				t.Errorf("%s\n%v, %s", tc.reason, err, out)
			}
			var uploads []string
			for line := range strings.Lines(s.read("called")) {
				switch _, rest, ok := strings.Cut(line, "--request PUT --upload-file "); {
				case !ok:
				case strings.HasSuffix(rest, "/a/b/OVN_Northbound/owner\n"):
					uploads = append(uploads, "owner")
				case strings.HasSuffix(rest, ".db.gz\n"):
					uploads = append(uploads, "copy")
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(uploads, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, out)
			}
			if tc.want == "owner copy" {
				if got, want := s.read("tmp/owner"), "cloud/ovn 56ee8c5c-99ed\n"; got != want {
					t.Errorf("the owner is %q, want %q", got, want)
				}
				const query = `["OVN_Northbound", {"op": "select", "table": "NB_Global", "where": [], "columns": ["_uuid"]}]` + "\n"
				if got := s.read("queries"); got != query {
					t.Errorf("the query is %s", got)
				}
			}
		})
	}
}
