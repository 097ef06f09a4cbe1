/* A part of clang.cc: sections of OpenMP. */

/* clang makes a loop over the sections that a thread executes, with a `switch` between
 * them, of which it tells the OpenMP library the first and the last only. Here each says
 * that it begins (../runtime/openmp.c). Comes before all else, while the loop is as clang
 * has made it; one that looks otherwise is left alone. */
class sections_pass : public PassInfoMixin<sections_pass> {
	enum { OF_SECTIONS = 0x400 }; /* KMP_IDENT_WORK_SECTIONS in an ident_t */

	static bool is_of_sections(const CallInst &call)
	{
		auto *where = dyn_cast<GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
		auto *fields = where && where->hasInitializer() ? dyn_cast<ConstantStruct>(where->getInitializer()) : nullptr;
		auto *flags = fields && fields->getNumOperands() > 1 ? dyn_cast<ConstantInt>(fields->getOperand(1)) : nullptr;
		return flags && flags->getZExtValue() & OF_SECTIONS;
	}

	/* The switch of the loop behind the call: from the block of the call to the loop's
	 * condition, and into its body. */
	static SwitchInst *switch_behind(CallInst &call)
	{
		BasicBlock *condition = call.getParent()->getSingleSuccessor();
		auto *branch = condition ? dyn_cast<BranchInst>(condition->getTerminator()) : nullptr;
		return branch && branch->isConditional() ? dyn_cast<SwitchInst>(branch->getSuccessor(0)->getTerminator()) : nullptr;
	}

public:
	PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
	{
		Function *init = module.getFunction("__kmpc_for_static_init_4");
		if (is_instrumented(module) || !init)
			return PreservedAnalyses::all();
		for (User *user : make_early_inc_range(init->users())) {
			auto *call = dyn_cast<CallInst>(user);
			if (!call || call->getCalledFunction() != init || !is_of_sections(*call))
				continue;
			SwitchInst *choice = switch_behind(*call);
			if (!choice)
				continue;
			call->setCalledFunction(module.getOrInsertFunction("mcchk_sections_init", init->getFunctionType()));
			IRBuilder<>(choice).CreateCall(module.getOrInsertFunction("mcchk_section_begins", FunctionType::get(Type::getVoidTy(module.getContext()), false)));
		}
		return PreservedAnalyses::none();
	}

	static bool isRequired() { return true; }
};
