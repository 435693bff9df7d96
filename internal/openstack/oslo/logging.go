package oslo

// Logging returns the options for the log format of a service: lines of text, which is the default of oslo.log, or one JSON
// object in each line for log collectors, with the request context and the traceback in separate fields. The log format of
// uWSGI's requests is configured in uWSGI's own file (internal/kube/workload).
//
// A logging configuration file is not used, because it would override debug and default_log_levels.
// https://docs.openstack.org/oslo.log/latest/configuration/index.html#DEFAULT.use_json
func Logging(json bool) Config {
	if !json {
		return nil
	}
	return Config{DefaultGroup: {"use_json": true}}
}
