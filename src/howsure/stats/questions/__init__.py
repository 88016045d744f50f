"""Statistics of single questions: difficulty, consistency, attempts, and labels that may be wrong.

==============  =================================================================================
difficulty      probability of a correct answer to each question, its distribution and stability
items           the one-parameter logistic model, and Kendall's tau of a question with ability
consistency     how often each model gave each answer, and how often answers agree
answer_sets     sets of answers with the same meaning, where something else than equality decides
attempts        success of k attempts: pass@k, pass^k and majority@k
label_errors    questions whose label may be wrong, from the answers of several models
score_patterns  questions with unusual scores, where answers are not recorded
question_map    the data map of each model: P(correct) and consistency of its answers
==============  =================================================================================
"""

from howsure.stats.questions.answer_sets import AnswerPair, count_most_comparisons, merge_equivalent_answers
from howsure.stats.questions.attempts import (
    Attempts,
    estimate_majority,
    estimate_majority_of_answers,
    estimate_pass_at_k,
    pass_all,
    pass_any,
)
from howsure.stats.questions.consistency import (
    AnswerCounts,
    estimate_consistency,
    min_generations,
    modal_answers,
)
from howsure.stats.questions.difficulty import (
    BetaCurves,
    Difficulty,
    DifficultyDensity,
    DifficultyStability,
    estimate_density,
    estimate_p_correct,
    estimate_stability,
    evaluate_beta_curves,
)
from howsure.stats.questions.items import (
    OneParameter,
    QuestionTable,
    QuestionTau,
    compute_discrimination,
    compute_question_tau,
    describe_questions,
    fit_one_parameter,
)
from howsure.stats.questions.label_errors import (
    MAX_P_CORRECT,
    MAX_SHARE,
    MIN_CONSISTENCY,
    Audit,
    LabelErrors,
    audit,
    find_label_errors,
)
from howsure.stats.questions.question_map import MEAN_OF_MODELS, QuestionMap, map_questions
from howsure.stats.questions.score_patterns import (
    ScoreAudit,
    UnusualQuestions,
    audit_scores,
    find_unusual_questions,
)

__all__ = [
    "MAX_P_CORRECT",
    "MAX_SHARE",
    "MEAN_OF_MODELS",
    "MIN_CONSISTENCY",
    "AnswerCounts",
    "AnswerPair",
    "Attempts",
    "Audit",
    "BetaCurves",
    "Difficulty",
    "DifficultyDensity",
    "DifficultyStability",
    "LabelErrors",
    "OneParameter",
    "QuestionMap",
    "QuestionTable",
    "QuestionTau",
    "ScoreAudit",
    "UnusualQuestions",
    "audit",
    "audit_scores",
    "compute_discrimination",
    "compute_question_tau",
    "count_most_comparisons",
    "describe_questions",
    "estimate_consistency",
    "estimate_density",
    "estimate_majority",
    "estimate_majority_of_answers",
    "estimate_p_correct",
    "estimate_pass_at_k",
    "estimate_stability",
    "evaluate_beta_curves",
    "find_label_errors",
    "find_unusual_questions",
    "fit_one_parameter",
    "map_questions",
    "merge_equivalent_answers",
    "min_generations",
    "modal_answers",
    "pass_all",
    "pass_any",
]
