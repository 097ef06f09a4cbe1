/* A part of clang.cc: what is done to a function first, so that more is known of its loops. */

/* The sum that all ways into a block have made; nullptr: they have not. */
BinaryOperator *common_sum(PHINode &phi, DominatorTree &tree)
{
	auto *sum = dyn_cast<BinaryOperator>(phi.getIncomingValue(0));
	if (!sum || !all_of(sum->operands(), [&](Value *v) { return !isa<Instruction>(v) || tree.properlyDominates(cast<Instruction>(v)->getParent(), phi.getParent()); }))
		return nullptr;
	for (Value *other : phi.incoming_values())
		if (!isa<BinaryOperator>(other) || !cast<BinaryOperator>(other)->isIdenticalToWhenDefined(sum))
			return nullptr;
	return sum;
}

/* Makes such sums one again: a counter that goes on in two branches is none for LLVM. */
void join_sums(Function &f, DominatorTree &tree)
{
	for (BasicBlock &block : f)
		for (PHINode &phi : make_early_inc_range(block.phis()))
			if (BinaryOperator *sum = common_sum(phi, tree)) {
				Instruction *one = sum->clone();
				for (Value *other : phi.incoming_values())
					one->andIRFlags(other);
				one->insertBefore(&*block.getFirstInsertionPt());
				phi.replaceAllUsesWith(one);
				phi.eraseFromParent();
			}
}

/* Puts loads of what stays the same in front of loops, as in the plain program: LLVM does
 * not do so in functions for the sanitizer. What announces them stays where it is, and
 * writes no memory of the program's. */
void hoist(Function &f, FunctionAnalysisManager &m)
{
	const auto kinds = {Attribute::InaccessibleMemOnly, Attribute::NoUnwind, Attribute::WillReturn};
	SmallVector<CallInst *, 32> calls;
	f.removeFnAttr(Attribute::SanitizeThread);
	for (Instruction &i : instructions(f)) {
		access a;
		if (announces(i, a))
			calls.push_back(a.call);
	}
	for (CallInst *call : calls)
		for (auto kind : kinds)
			call->addFnAttr(kind);
	m.invalidate(f, createFunctionToLoopPassAdaptor(LICMPass(), true).run(f, m));
	for (CallInst *call : calls)
		for (auto kind : kinds)
			call->removeFnAttr(kind);
}

/* Where nothing is optimized all variables are memory: those that only the function knows
 * become values, so that something is known of its loops. No load of other memory goes. */
void name_values(Function &f, FunctionAnalysisManager &m)
{
	if (f.callsFunctionThatReturnsTwice()) /* which finds variables as they were left */
		return;
	SmallVector<AllocaInst *, 16> variables;
	for (Instruction &i : f.getEntryBlock())
		if (auto *variable = dyn_cast<AllocaInst>(&i))
			if (isAllocaPromotable(variable))
				variables.push_back(variable);
	PromoteMemToReg(variables, m.getResult<DominatorTreeAnalysis>(f), &m.getResult<AssumptionAnalysis>(f));
	m.invalidate(f, PreservedAnalyses::none());
}
