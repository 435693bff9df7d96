package composed

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// reference matches the name of a ConfigMap, Secret or PersistentVolumeClaim in the JSON of a pod.
var reference = regexp.MustCompile(`"(?:secretName|name|claimName)":"([^"]+)"`)

// fileSources lists kinds of objects that pods mount, or that create a Secret that pods mount.
var fileSources = []string{"ConfigMap", "SecretAggregate", "ExternalSecret", "Certificate", "Password"}

// programs returns the content of each object of a claim by "Kind/name": fields, annotations, the cluster, and whether it is retained.
// The content of a pod includes its ConfigMaps and the objects that create its Secrets.
func programs(t *testing.T, c *cloud) map[string]string {
	t.Helper()
	out, files, pods := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, o := range c.objects {
		body := maps.Clone(o.manifest)
		delete(body, "apiVersion")
		delete(body, "metadata")
		body["annotations"], body["cluster"], body["retained"] = o.at("metadata", "annotations"), o.Cluster, o.Retained
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		key := o.Kind + "/" + general(o.Name)
		out[key] += string(data)
		if len(list(o.at("spec", "template", "spec", "containers"))) > 0 || o.Kind == "CronJob" {
			pods[key] = true
		}
		if slices.Contains(fileSources, o.Kind) {
			secrets := []string{o.text("spec", "targetSecretName"), o.text("spec", "secretName"), o.text("spec", "target", "name")}
			for _, name := range append(secrets, o.Name) {
				if name != "" {
					files[name] += string(data)
				}
			}
		}
	}
	for key := range pods {
		for _, m := range reference.FindAllStringSubmatch(out[key], -1) {
			out[key] += files[m[1]]
		}
	}
	return out
}
