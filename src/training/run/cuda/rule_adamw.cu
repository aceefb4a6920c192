// rule_adamw.cu: the loop of src/training/method/rule/rule_adamw.c on a card.

enum { KEEP = ADAM_NUMBERS, MOVE };

struct adamw {
    enum { NSTATES = 2 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        return subtract(multiply(k[KEEP], w), multiply(k[MOVE], adam_quotient(k, sum, state)));
    }
};
RULE(adamw)
