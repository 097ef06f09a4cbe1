/* A part of clang.cc: loops in a loop that are gone through once more, or less often, in each
 * iteration than in the one before. */

/* Numbers that are at least 0 where a loop is entered are all widened in one way. */
struct widened : SCEVRewriteVisitor<widened> {
	const Loop *loop;

	widened(ScalarEvolution &evolution, const Loop *loop) : SCEVRewriteVisitor(evolution), loop(loop) {}
	const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *e)
	{
		const SCEV *of = visit(e->getOperand()), *zero = SE.getZero(of->getType());
		return SE.isLoopEntryGuardedByCond(loop, CmpInst::ICMP_SGE, of, zero) ? SE.getZeroExtendExpr(of, e->getType())
										      : SE.getSignExtendExpr(of, e->getType());
	}
};

/* Whether a comparison that holds, `sense`, or does not, tells just where a number is more than 0. */
bool loop_pass::holds_where_positive(const Loop *loop, ICmpInst *test, bool sense, const SCEV *number)
{
	if (!test || !test->getOperand(0)->getType()->isIntegerTy())
		return false;
	CmpInst::Predicate predicate = sense ? test->getPredicate() : test->getInversePredicate();
	const SCEV *a = evolution->getSCEV(test->getOperand(0)), *b = evolution->getSCEV(test->getOperand(1));
	if (evolution->getTypeSizeInBits(a->getType()) != evolution->getTypeSizeInBits(number->getType()))
		return false;
	const SCEV *more = evolution->getMinusSCEV(a, b), *less = evolution->getMinusSCEV(b, a), *one = evolution->getOne(a->getType());
	auto is = [&](const SCEV *x) { return widened(*evolution, loop).visit(evolution->getMinusSCEV(x, number))->isZero(); };
	switch (predicate) {
	case CmpInst::ICMP_SLT: case CmpInst::ICMP_ULT: return is(less);
	case CmpInst::ICMP_SLE: case CmpInst::ICMP_ULE: return is(evolution->getAddExpr(less, one));
	case CmpInst::ICMP_SGT: case CmpInst::ICMP_UGT: return is(more);
	case CmpInst::ICMP_SGE: case CmpInst::ICMP_UGE: return is(evolution->getAddExpr(more, one));
	case CmpInst::ICMP_NE: return is(more) || is(less);
	default: return false;
	}
}

/* Where an expression is the larger one of 0 and another, that; else the expression. */
const SCEV *loop_pass::without_least(const SCEV *expression)
{
	auto other = [&](const SCEV *most, const SCEV *plus) -> const SCEV * {
		auto *all = dyn_cast<SCEVSMaxExpr>(most);
		for (unsigned i = 0; all && all->getNumOperands() == 2 && i < 2; i++)
			if (evolution->getAddExpr(all->getOperand(i), plus)->isZero())
				return evolution->getAddExpr(all->getOperand(1 - i), plus);
		return nullptr;
	};
	if (const SCEV *found = other(expression, evolution->getZero(expression->getType())))
		return found;
	auto *sum = dyn_cast<SCEVAddExpr>(expression);
	for (unsigned i = 0; sum && i < sum->getNumOperands(); i++)
		if (const SCEV *found = other(sum->getOperand(i), evolution->getMinusSCEV(sum, sum->getOperand(i))))
			return found;
	return expression;
}

/* Whether an access of a loop in the loop is made more often by the same in each iteration, and
 * how often in the first. (Rows of 2^31 elements, in a loop that counts with so few bits, are
 * not expected.) */
bool loop_pass::grows(const announcing_loop &l, Loop *inner, bool last, access &a)
{
	Type *number = Type::getInt64Ty(inner->getHeader()->getContext());
	const SCEV *passes = evolution->getBackedgeTakenCount(inner);
	if (auto *wider = dyn_cast<SCEVZeroExtendExpr>(passes))
		passes = wider->getOperand();
	const SCEV *some = without_least(passes);
	if (last && some != passes)
		return false;
	auto *moving = dyn_cast<SCEVAddRecExpr>(some);
	if (!moving || moving->getLoop() != l.loop || !moving->isAffine())
		return false;
	if (a.guard && !l.loop->isLoopInvariant(a.guard)) {
		if (some != passes || !holds_where_positive(l.loop, dyn_cast<ICmpInst>(a.guard), a.sense, evolution->getAddExpr(some, evolution->getOne(some->getType()))))
			return false;
		a.guard = nullptr;
	}
	a.count = evolution->getNoopOrSignExtend(moving->getStart(), number);
	a.growth = evolution->getNoopOrSignExtend(moving->getStepRecurrence(*evolution), number);
	return true;
}
