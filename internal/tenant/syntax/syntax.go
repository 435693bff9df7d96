// Package syntax validates values of a spec with the rules of the programs that read them, if a schema cannot: keys of
// maps, which definitions of composite resources cannot restrict, and parts of addresses.
package syntax

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Check returns an error for each value below path that Kubernetes, or a client of an address, rejects.
func Check(path string, spec any) error {
	var errs []error
	limit.Walk(path, spec, func(field string, value any) {
		switch v := value.(type) {
		case map[string]common.LabelValue:
			errs = append(errs, keys(field, "a label", slices.Sorted(maps.Keys(v))))
		case map[string]common.AnnotationValue:
			errs = append(errs, keys(field, annotation, slices.Sorted(maps.Keys(v))))
		case common.Toleration:
			errs = append(errs, toleration(field, v))
		case common.Resources:
			errs = append(errs, scratch(field, v))
		case common.Cron:
			errs = append(errs, cron(field, v))
		default:
			if text, ok := textOf(value); ok {
				errs = append(errs, address(field, text))
			}
		}
	})
	return errors.Join(errs...)
}

func textOf(value any) (string, bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.String {
		return "", false
	}
	if _, policy := value.(common.PolicyCheck); policy {
		return "", false
	}
	return v.String(), true
}

const annotation = "an annotation"

// keys returns an error for keys of labels and annotations that the API server rejects.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
func keys(field, kind string, all []string) error {
	var errs []error
	for _, key := range all {
		text := key
		if kind == annotation {
			text = strings.ToLower(key) // as the API server compares them
		}
		if problems := validation.IsQualifiedName(text); len(problems) > 0 {
			errs = append(errs, invalid.Field(field, "%q is not the key of %s: it must be a name of at most 63 letters, digits, '-', '_' and '.', "+
				"with an optional DNS domain and '/' before it; correct the key", key, kind))
		}
	}
	return errors.Join(errs...)
}

// toleration returns an error for a toleration that the API server rejects in a pod.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func toleration(field string, t common.Toleration) error {
	var errs []error
	if problems := validation.IsQualifiedName(t.Key); t.Key != "" && len(problems) > 0 {
		errs = append(errs, invalid.Field(field+".key", "%q is not the key of a taint: it must be a name of at most 63 letters, digits, "+
			"'-', '_' and "+
			"'.', with an optional DNS domain and '/' before it; correct the key", t.Key))
	}
	if problems := validation.IsValidLabelValue(t.Value); len(problems) > 0 {
		errs = append(errs, invalid.Field(field+".value", "%q is not the value of a taint: it must be empty, or at most 63 letters, digits, "+
			"'-', '_' "+
			"and '.', beginning and ending with a letter or digit; correct the value", t.Value))
	}
	if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
		errs = append(errs, invalid.Field(field+".tolerationSeconds",
			"requires effect NoExecute: no other effect evicts pods; set the effect, or "+
				"remove tolerationSeconds"))
	}
	return errors.Join(errs...)
}

// cron returns an error for a schedule that a CronJob or the companion would reject long after the claim was accepted, such as minute 61,
// or that never runs, such as 30 February.
func cron(field string, text common.Cron) error {
	if err := schedule.Check(string(text)); err != nil {
		return invalid.Field(field, "%s; give minute, hour, day of month, month and day of week", err)
	}
	return nil
}

// scratch returns an error for a request of scratch space that exceeds its limit. The schema compares CPU and memory.
func scratch(field string, r common.Resources) error {
	if r.Requests == nil || r.Limits == nil || r.Requests.EphemeralStorage == nil || r.Limits.EphemeralStorage == nil {
		return nil
	}
	if request, limit := r.Requests.EphemeralStorage, r.Limits.EphemeralStorage; request.Cmp(*limit) > 0 {
		return invalid.Field(field+".requests.ephemeral-storage", "%s must not exceed limits.ephemeral-storage, which is %s; lower one, or "+
			"raise the "+
			"other", request, limit)
	}
	return nil
}

// schemes of the addresses in a spec.
var schemes = []string{"http://", "https://", "ldap://", "ldaps://"}

// address returns an error for an address with one of these schemes whose host or port is invalid.
func address(field, text string) error {
	i := slices.IndexFunc(schemes, func(s string) bool { return strings.HasPrefix(text, s) })
	if i < 0 {
		return nil
	}
	if _, err := workload.PortOf(strings.ReplaceAll(text, "%(project_id)s", "project")); err != nil {
		return invalid.Field(field, "%s", err)
	}
	return nil
}

// HostPort returns an error for text that is not host:port with a port from 1 to 65535, an IPv6 address in brackets.
func HostPort(text string) error {
	at := strings.LastIndex(text, ":")
	if at < 1 {
		return fmt.Errorf("%q must be host:port", text)
	}
	host, number := text[:at], text[at+1:]
	if port, err := strconv.ParseUint(number, 10, 16); err != nil || port == 0 {
		return fmt.Errorf("there is no port %s; give one from 1 to 65535", number)
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	if !bracketed {
		if strings.ContainsAny(host, ":[]") {
			return fmt.Errorf("%q must have brackets around the IPv6 address", text)
		}
		if _, ok := limit.ReadAddress(text); !ok {
			return fmt.Errorf("%q is not a host that all programs parse in the same way", host)
		}
		return nil
	}
	inner, closed := strings.CutSuffix(inner, "]")
	if ip, err := netip.ParseAddr(inner); !closed || err != nil || !ip.Is6() {
		return fmt.Errorf("%q has no IPv6 address in the brackets", text)
	}
	return nil
}
