/* A part of clang.cc: functions in which nothing is recorded. */

/* Whether others may see what lies there. */
bool is_seen(const Value *pointer)
{
	const Value *object = getUnderlyingObject(pointer, 0);
	if (auto *variable = dyn_cast<GlobalVariable>(object))
		return !variable->isConstant();
	return !isa<AllocaInst>(object) || PointerMayBeCaptured(object, false, true, most_uses);
}

/* Whether nothing in the instruction is recorded, whatever is called; `calls` gets the
 * functions of the module that it does. */
bool is_silent(const Instruction &i, SmallPtrSetImpl<const Function *> &calls)
{
	if (i.isVolatile() || i.isAtomic())
		return false;
	if (auto *load = dyn_cast<LoadInst>(&i))
		return !is_seen(load->getPointerOperand());
	if (auto *store = dyn_cast<StoreInst>(&i))
		return !is_seen(store->getPointerOperand());
	auto *call = dyn_cast<CallBase>(&i);
	if (!call)
		return !i.mayReadOrWriteMemory();
	const Function *callee = call->getCalledFunction();
	if (!callee || call->isInlineAsm() || call->hasStructRetAttr() || call->isMustTailCall())
		return false;
	for (unsigned k = 0; k < call->arg_size(); k++)
		if (call->isByValArgument(k))
			return false;
	if (auto *intrinsic = dyn_cast<IntrinsicInst>(call))
		return intrinsic->isAssumeLikeIntrinsic() || intrinsic->doesNotAccessMemory();
	if (callee->isDeclaration() || callee->isInterposable())
		return callee->isDeclaration() && callee->doesNotAccessMemory() && callee->doesNotThrow();
	calls.insert(callee);
	return true;
}

/* A function in which nothing is recorded, whatever it calls, is in no call stack, and may
 * be what the plain program has: no frame for a call that it ends with. This comes before
 * the sanitizer and all else. */
class silent_pass : public PassInfoMixin<silent_pass> {
public:
	PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
	{
		if (is_instrumented(module))
			return PreservedAnalyses::all();
		DenseMap<const Function *, SmallPtrSet<const Function *, 4>> silent;
		SmallVector<Function *, 16> list;
		for (Function &f : module) {
			if (f.isDeclaration() || f.isInterposable() || f.hasOptNone() || f.hasStructRetAttr())
				continue;
			SmallPtrSet<const Function *, 4> calls;
			if (all_of(instructions(f), [&](const Instruction &i) { return is_silent(i, calls); })) {
				silent[&f] = calls;
				list.push_back(&f);
			}
		}
		for (size_t before = list.size() + 1; list.size() < before;) {
			before = list.size();
			erase_if(list, [&](Function *f) {
				bool out = any_of(silent[f], [&](const Function *callee) { return !silent.count(callee); });
				if (out)
					silent.erase(f);
				return out;
			});
		}
		for (Function *f : list)
			f->removeFnAttr("disable-tail-calls");
		return PreservedAnalyses::all();
	}

	static bool isRequired() { return true; }
};
