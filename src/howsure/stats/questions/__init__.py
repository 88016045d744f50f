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

from howsure.stats.questions.answer_sets import *
from howsure.stats.questions.attempts import *
from howsure.stats.questions.consistency import *
from howsure.stats.questions.difficulty import *
from howsure.stats.questions.items import *
from howsure.stats.questions.label_errors import *
from howsure.stats.questions.question_map import *
from howsure.stats.questions.score_patterns import *
