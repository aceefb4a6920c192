/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job.c: any bytes are a job or a refusal with words; the print of a job reads back to the same print. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/job.h"

static void must(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tutti_job *job = NULL, *again = NULL;
    tutti_failure err = {0};
    if (tutti_job_parse("job.yaml", (const char *)data, size, NULL, 0, &job, &err) != TUTTI_OK) {
        must(err.status == TUTTI_ERR_USAGE && strncmp(err.text, "job.yaml", 8) == 0);
        return 0;
    }
    char *first = tutti_job_print(job);
    must(tutti_job_parse("print", first, strlen(first), NULL, 0, &again, &err) == TUTTI_OK);
    char *second = tutti_job_print(again);
    must(strcmp(first, second) == 0);
    free(first);
    free(second);
    tutti_job_destroy(job);
    tutti_job_destroy(again);
    return 0;
}
