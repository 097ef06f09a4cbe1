package main
import ("context";"os";"runtime";"runtime/pprof";"github.com/mcchk/mcchk/analysis";"strconv")
func main(){
 runtime.MemProfileRate=4096
 n,_:=strconv.Atoi(os.Args[2]); k:=0
 o:=analysis.Options{MaxMemory: 128<<20, Progress: func(p analysis.Progress){ if p.Phases>=n && k==0 {k=1; runtime.GC(); f,_:=os.Create(os.Args[3]); pprof.Lookup("heap").WriteTo(f,0); f.Close()}}}
 analysis.Run(context.Background(), os.Args[1], o)
 f,_:=os.Create(os.Args[3]+".alloc"); pprof.Lookup("allocs").WriteTo(f,0); f.Close()
}
