// rule_sgd.cu: the loop of src/training/method/rule/rule_sgd.c on a card.

struct sgd {
    enum { NSTATES = 0 };
    DEVICE float step(const float *k, float w, float sum, float *)
    {
        return subtract(w, multiply(k[SGD_LR], sgd_gradient(k, w, sum)));
    }
};
RULE(sgd)
