package override

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// valueRule describes a value that the type of an option permits, and with which a service does not start or refuses every request.
type valueRule struct {
	group, option string
	// check returns the reason and the remedy, or "" for a value that works. other returns the effective value of another option.
	check func(value any, other func(group, option string) any) string
	// unless is an option of the same group whose rule reports the same contradiction if the tenant sets it.
	unless string
}

// logRules apply to all services, also to images with unknown options: a patched image logs the same.
var logRules = []valueRule{{group: "DEFAULT", option: "default_log_levels", check: quietLoggers}}

// quietLoggers requires levels for the loggers of libraries whose messages contain secrets. The value replaces the default list of
// oslo.log, and a logger without an entry has the level of the root logger. SQLAlchemy logs statements with their values from level INFO
// (sqlalchemy.log.InstanceLogger), botocore the headers of requests at level DEBUG.
func quietLoggers(value any, _ func(string, string) any) string {
	levels := map[string]string{}
	for _, entry := range list(value) {
		logger, level, _ := strings.Cut(strings.TrimSpace(entry), "=")
		levels[logger] = strings.ToUpper(level)
	}
	quiet := []string{"WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"}
	if !slices.Contains(quiet, levels["sqlalchemy"]) {
		return "must contain sqlalchemy=WARN: logs would contain values of the database, such as password hashes; add it"
	}
	for _, logger := range slices.Sorted(maps.Keys(levels)) {
		switch library, _, _ := strings.Cut(logger, "."); {
		case library == "sqlalchemy" && !slices.Contains(quiet, levels[logger]):
			return fmt.Sprintf("%s logs values of the database below level WARN; set %s=WARN, or remove it", logger, logger)
		case slices.Contains([]string{"boto", "boto3", "botocore", "s3transfer"}, library) && levels[logger] == "DEBUG":
			return fmt.Sprintf("%s logs credentials of the object store at level DEBUG; set %s=INFO, or remove it", logger, logger)
		}
	}
	return ""
}

// list returns the elements of an option of type list. Claims may contain it as a string.
func list(value any) []string {
	switch v := value.(type) {
	case []string:
		return v
	case string:
		return strings.Split(v, ",")
	}
	return nil
}

// valueRules lists the rules of each service.
var valueRules = map[string][]valueRule{
	"keystone": {
		// keystone.token.token_formatters: a longer token is not issued. Tokens of application credentials and of federated users are the
		// longest.
		{
			group: "DEFAULT", option: "max_token_size",
			check: atLeast(255, "tokens have up to 255 characters, and longer ones are not issued; set 255 or more"),
		},
		{group: "DEFAULT", option: "max_project_tree_depth", check: atLeast(1, "no project could be created in a domain; set 1 or more")},
		{group: "application_credential", option: "user_limit", check: credentialLimit},
	},
	"glance": {
		// glance.api.common.get_remaining_quota.
		{group: "DEFAULT", option: "user_storage_quota", check: matching(regexp.MustCompile(`^[0-9]+([KMGT]?B)?$`),
			"every upload would fail; set a number with B, KB, MB, GB or TB, without a space, such as 500GB")},
	},
	"neutron": {
		// neutron.common.config.init: Neutron does not start.
		{
			group: "DEFAULT", option: "base_mac",
			check: matching(unicast, "the prefix must be a MAC address, not of a group; set one such as fa:16:3e:00:00:00"),
		},
		{group: "DEFAULT", option: "dvr_base_mac", check: routerPrefix},
	},
	"cinder": {
		{group: "DEFAULT", option: "service_down_time", check: silence},
		{group: "DEFAULT", option: "report_interval", check: report, unless: "service_down_time"},
	},
	// The options with noUser belong to the API and to nova-compute, which both have this list.
	"nova": {
		{group: "api", option: "max_limit", check: atLeast(1, "every list would be empty; set 1 or more")},
		{group: "DEFAULT", option: "reclaim_instance_interval", check: atMost(0, noUser+"volumes of deleted servers would stay; remove it")},
		{group: "DEFAULT", option: "shelved_offload_time", check: atMost(0, noUser+"servers with volumes could not be offloaded; set 0 or -1")},
	},
	"heat": {
		{
			group: "DEFAULT", option: "stack_action_timeout",
			check: atLeast(1, "every action of a stack would time out at once; set a number of seconds"),
		},
		{group: "DEFAULT", option: "max_template_size", check: templateSize},
	},
}

// atLeast returns a check of a number.
func atLeast(least int64, why string) func(any, func(string, string) any) string {
	return func(value any, _ func(string, string) any) string {
		if n, ok := number(value); !ok || n >= least {
			return ""
		}
		return fmt.Sprintf("must be at least %d: %s", least, why)
	}
}

// noUser is the reason against options with which nova-compute acts later: it has no role admin (functions/hypervisor/account.go), and the
// token of the user is not valid any more.
const noUser = "nova-compute would act later, without the token of a user, and "

// atMost returns a check of a number.
func atMost(most int64, why string) func(any, func(string, string) any) string {
	return func(value any, _ func(string, string) any) string {
		if n, ok := number(value); !ok || n <= most {
			return ""
		}
		return fmt.Sprintf("must be at most %d: %s", most, why)
	}
}

// matching returns a check of a text.
func matching(e *regexp.Regexp, why string) func(any, func(string, string) any) string {
	return func(value any, _ func(string, string) any) string {
		if text := fmt.Sprint(value); !e.MatchString(text) {
			return fmt.Sprintf("%q is not usable: %s", text, why)
		}
		return ""
	}
}

// unicast is the MAC address of one interface, as Neutron validates it.
var unicast = regexp.MustCompile(`^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$`)

// routerPrefix compares the prefix of distributed routers with the prefix of ports. The first three octets are kept, and the fourth one
// unless it is 00 (neutron_lib.utils.net.get_random_mac).
func routerPrefix(value any, other func(string, string) any) string {
	own, ports := strings.ToLower(fmt.Sprint(value)), strings.ToLower(fmt.Sprint(other("DEFAULT", "base_mac")))
	if !unicast.MatchString(own) {
		return fmt.Sprintf("%q is not usable: the prefix must be a MAC address, not of a group; set one such as fa:16:3f:00:00:00", own)
	}
	const fixed, fourth = len("fa:16:3e"), len("fa:16:3e:00")
	if !unicast.MatchString(ports) || own[:fixed] != ports[:fixed] || own[fixed:fourth] != ports[fixed:fourth] {
		return ""
	}
	return fmt.Sprintf("must have another prefix than base_mac, which is %s: routers and ports would get the same addresses; "+
		"set one such as fa:16:3f:00:00:00", ports)
}

// credentialLimit requires room for application credentials during a rotation.
func credentialLimit(value any, _ func(string, string) any) string {
	const least = 5
	if n, ok := number(value); !ok || n < 0 || n >= least {
		return ""
	}
	return fmt.Sprintf("must be -1, or at least %d: services log in with application credentials, and have several of them during a "+
		"rotation; raise it", least)
}

// silence compares the time after which a service counts as down with the interval of its reports: an API reads both from its own file.
func silence(value any, other func(string, string) any) string {
	return downTime(value, other("DEFAULT", "report_interval"), "raise it")
}

// CinderServiceDownTime is the time without reports after which a service of Cinder counts as down, if the claim does not set it. A volume
// process does not report while it stops, for up to three minutes, nor until it is initialized and its first interval has passed
// (cinder/service.py). With Cinder's default of 60 seconds, the scheduler finds no backend for new volumes in the meantime, and they fail.
const CinderServiceDownTime = 5 * time.Minute

// report compares them if only the interval is set.
func report(value any, _ func(string, string) any) string {
	return downTime(int64(CinderServiceDownTime.Seconds()), value, "lower it, or raise service_down_time")
}

func downTime(down, interval any, remedy string) string {
	d, known := number(down)
	i, reports := number(interval)
	if !known || !reports || d > i {
		return ""
	}
	return fmt.Sprintf("services report every %d seconds (report_interval), and count as down after %d (service_down_time); %s", i, d, remedy)
}

// templateSize compares the largest template with the largest request, which contains it.
func templateSize(value any, other func(string, string) any) string {
	size, ok := number(value)
	body, limited := number(other("DEFAULT", "max_json_body_size"))
	switch {
	case ok && size < 1:
		return "must be at least 1: every template would be refused; set a number of bytes"
	case ok && limited && size >= body:
		return fmt.Sprintf("%d bytes must be less than max_json_body_size, which is %d: a request contains the template; lower it, or raise "+
			"max_json_body_size", size, body)
	}
	return ""
}

// number returns the value of a numeric option. Claims may contain it as a string.
func number(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// checkValues returns an error for each value of the tenant that violates a rule.
func checkValues(rules []valueRule, known *registry.Registry, conf oslo.Config, path func(group string) string) []error {
	effective := func(group, option string) any {
		if value, ok := conf[group][option]; ok {
			return value
		}
		if found := known.Lookup(group, option); len(found) == 1 {
			return found[0].Default
		}
		return nil
	}
	var errs []error
	for _, rule := range rules {
		value, ok := conf[rule.group][rule.option]
		if _, reported := conf[rule.group][rule.unless]; !ok || reported {
			continue
		}
		if why := rule.check(value, effective); why != "" {
			errs = append(errs, invalid.Field(invalid.Path(path(rule.group), name(rule.option)), "%s", why))
		}
	}
	return errs
}
