package oslo

// Logging returns how a service writes its log to its output: lines of text, as oslo.log does by itself, or a JSON object on each line,
// with the request's context and a traceback in fields of their own, for what collects logs. What uWSGI writes of requests it is told
// where its own file is made (internal/kube/workload).
//
// No logging configuration file is needed, which would take the place of debug and default_log_levels.
// https://docs.openstack.org/oslo.log/latest/configuration/index.html#DEFAULT.use_json
func Logging(json bool) Config {
	if !json {
		return nil
	}
	return Config{DefaultGroup: {"use_json": true}}
}
