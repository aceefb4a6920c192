// rule_lamb.cu: the loop of src/training/method/rule/rule_lamb.c on a card.

enum { DECAY = ADAM_NUMBERS, CORRECTION, MOVE };

struct lamb {
    enum { NSTATES = 2 };
    DEVICE float measure(const float *k, float w, float sum, float *state)
    {
        return add(multiply(k[CORRECTION], adam_quotient(k, sum, state)), multiply(k[DECAY], w));
    }
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        return subtract(w, multiply(k[MOVE], measure(k, w, sum, state)));
    }
};
RULE(lamb)
NORMS_OF_MEASURED(lamb)
