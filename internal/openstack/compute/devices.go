package compute

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// deviceAlias is an element of [pci] alias: a name with which flavors request PCI devices. Nova rejects other fields and
// other types (_ALIAS_SCHEMA of https://opendev.org/openstack/nova/src/branch/master/nova/pci/request.py).
type deviceAlias struct {
	Name           string  `json:"name"`
	CapabilityType string  `json:"capability_type"`
	VendorID       *string `json:"vendor_id"`
	ProductID      *string `json:"product_id"`
	DeviceType     string  `json:"device_type"`
	NUMAPolicy     string  `json:"numa_policy"`
	ResourceClass  *string `json:"resource_class"`
	Traits         string  `json:"traits"`
	LiveMigratable string  `json:"live_migratable"`
}

var (
	deviceID     = regexp.MustCompile("^[0-9a-fA-F]{4}$")
	deviceTypes  = []string{"", "type-PCI", "type-PF", "type-VF"}
	numaPolicies = []string{"", "required", "legacy", "preferred", "socket"}
	capabilities = []string{"", "pci"}
)

// DeviceAliases returns the names in [pci] alias, with which flavors can request PCI devices. The error joins one error for
// each alias that Nova rejects; field is the option's field in the claim.
func DeviceAliases(field string, config oslo.Config) ([]string, error) {
	var lines []string
	switch v := config["pci"]["alias"].(type) {
	case oslo.Multi:
		lines = v
	case []string:
		lines = v
	case string:
		lines = []string{v}
	}
	counted := isTrue(config["filter_scheduler"]["pci_in_placement"])
	var names []string
	var errs []error
	first := map[string]deviceAlias{}
	for _, line := range lines {
		a, err := parseAlias(line, counted)
		if err != nil {
			errs = append(errs, invalid.Field(field, "%s: %v", line, err))
			continue
		}
		if other, exists := first[a.Name]; exists {
			errs = append(errs, checkSecondAlias(field, a, other, counted))
			continue
		}
		first[a.Name] = a
		names = append(names, a.Name)
	}
	return names, errors.Join(errs...)
}

// checkSecondAlias returns an error for a name with two meanings. Without Placement, two aliases of one name match either
// kind of device.
func checkSecondAlias(field string, a, other deviceAlias, counted bool) error {
	switch {
	case counted:
		return invalid.Field(field, "two aliases are called %q, which Nova refuses with filter_scheduler.pci_in_placement; give their devices "+
			"one resource_class, or rename one", a.Name)
	case a.NUMAPolicy != other.NUMAPolicy || a.DeviceType != other.DeviceType:
		return invalid.Field(field, "two aliases are called %q, and have different values of device_type or numa_policy; set the same ones, or "+
			"rename one", a.Name)
	}
	return nil
}

// parseAlias returns an alias, or an error if Nova rejects it. counted is true if devices are tracked in Placement.
func parseAlias(line string, counted bool) (deviceAlias, error) {
	var a deviceAlias
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			return a, fmt.Errorf("%s is a %s, and Nova reads texts alone; put it in quotation marks", wrong.Field, wrong.Value)
		}
		return a, fmt.Errorf("is no JSON object that Nova reads (%w); write one such as "+
			`{"name": "gpu", "vendor_id": "10de", "product_id": "20b5", "device_type": "type-PCI"}`, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("more follows than one JSON object; write one element for each alias")
	}
	a.Name = strings.TrimSpace(a.Name)
	return a, a.check(counted)
}

func (a *deviceAlias) check(counted bool) error {
	id := func(v *string) bool { return v == nil || deviceID.MatchString(*v) }
	switch {
	case a.Name == "" || len(a.Name) > 256:
		return errors.New("name must have 1 to 256 characters; set one")
	case !id(a.VendorID) || !id(a.ProductID):
		return errors.New("vendor_id and product_id must be four hexadecimal digits, as lspci -nn shows them; correct them")
	case !slices.Contains(deviceTypes, a.DeviceType):
		return fmt.Errorf("device_type %q is none of %s; set one of them", a.DeviceType, strings.Join(deviceTypes[1:], ", "))
	case !slices.Contains(numaPolicies, a.NUMAPolicy):
		return fmt.Errorf("numa_policy %q is none of %s; set one of them", a.NUMAPolicy, strings.Join(numaPolicies[1:], ", "))
	case !slices.Contains(capabilities, a.CapabilityType):
		return fmt.Errorf("capability_type %q is not pci; remove it", a.CapabilityType)
	case a.LiveMigratable != "" && !isBoolean(a.LiveMigratable):
		return fmt.Errorf("live_migratable %q is no boolean; set \"true\" or \"false\"", a.LiveMigratable)
	case (a.VendorID == nil || a.ProductID == nil) && (!counted || a.ResourceClass == nil):
		return errors.New("vendor_id and product_id are missing; set both, or set resource_class and filter_scheduler.pci_in_placement")
	}
	return nil
}

func isBoolean(text string) bool {
	_, ok := oslo.Boolean(text)
	return ok
}

// isTrue reports whether the value of an option in a claim is true. Claims may contain a boolean as a string.
func isTrue(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case string:
		is, _ := oslo.Boolean(v)
		return is
	}
	return false
}
