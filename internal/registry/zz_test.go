package registry
import ("testing";"strings";"time")
func TestSlow(t *testing.T) {
	r := keystone(t,"2025.2")
	big := 1<<20
	for _, s := range []string{strings.Repeat(",",big),strings.Repeat("a,",big/2),strings.Repeat("[",big),strings.Repeat("a:[x],",big/6),strings.Repeat("a:[",big/3),strings.Repeat("],",big/2),strings.Repeat("http://[",big/8),"http://"+strings.Repeat("%41",big/3),"http://"+strings.Repeat("a@",big/2),strings.Repeat("(",big),strings.Repeat("not ",big/4),strings.Repeat("1",big),strings.Repeat("é",big/2), strings.Repeat("k:[a],",3)+strings.Repeat("k]",big/2), "a:["+strings.Repeat("],",big/2)} {
		for _, g := range r.Groups() { for _, o := range r.Options(g) {
			if o.Kind==kindString && len(o.Choices)==0 {continue}
			st := time.Now(); r.CheckOption(g,o.Name,s); if d:=time.Since(st); d>50*time.Millisecond {t.Log(d,g,o.Name,o.Kind,s[:10])}
		}}
		st := time.Now(); r.CheckOption(s,"a","x"); r.CheckOption("token",s,"x"); r.CheckPolicy("identity:get_user",s); r.CheckPolicy(s,"@"); if d:=time.Since(st); d>50*time.Millisecond {t.Log(d,"other",s[:10])}
		for _, e := range loadExamples(t).Types { st := time.Now(); e.Type.accepts(s); if d:=time.Since(st); d>50*time.Millisecond {t.Log(d,e.Type.String(),s[:10])} }
	}
	many := map[string]string{}
	for i := range 50000 { many["r"+strings.Repeat("a",i%7)+string(rune('a'+i%26))+time.Duration(i).String()] = "rule:r"+time.Duration(i+1).String() }
	st := time.Now(); n := len(r.CheckPolicies(many)); t.Log(time.Since(st), n)
}
