/* SPDX-License-Identifier: Apache-2.0 */
/* check_cards.c: checks of NVIDIA's cards and of the libraries that compute on them. */
#include <stdio.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../device/cuda/cuda.h"
#include "doctor_impl.h"

/* seconds; when they are over, the remaining cards are only counted, because opening a card may take a second */
static const double MOST_S = 1;

static void say_library(tutti_exam *e, int i)
{
    tutti_cuda_part part;
    tutti_failure err = {0};
    if (!tutti_cuda_survey_library(i, &part, &err))
        tutti_doctor_say(e, part.name, TUTTI_FINDING_OK, NULL, "%s", part.words);
    else
        tutti_doctor_say(e, part.name, TUTTI_FINDING_NOTE, err.text, "missing (%s)", part.purpose);
}

static void say_card(tutti_exam *e, int number)
{
    char name[32], words[TUTTI_CUDA_SURVEY];
    tutti_failure err = {0};
    snprintf(name, sizeof name, "card %d", number);
    if (!tutti_cuda_survey_card(number, words, &err))
        tutti_doctor_say(e, name, TUTTI_FINDING_OK, NULL, "%s", words);
    else
        tutti_doctor_say(e, name, TUTTI_FINDING_NOTE, "See docs/cuda.md; 'device: auto' takes the cpu until then.",
                         "cannot be used: %s", err.text);
}

/* Returns false, and adds a finding, if there is no driver. Then nothing else of CUDA can be checked. */
static bool has_driver(tutti_exam *e)
{
    tutti_cuda_part driver;
    tutti_failure err = {0};
    if (!tutti_cuda_survey_library(0, &driver, &err)) return true;
    if (access("/dev/nvidiactl", F_OK) == 0 || access("/proc/driver/nvidia", F_OK) == 0)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Install the driver's library; in a container: docker run --gpus all (docs/cuda.md).",
                         "there is an NVIDIA card, but %s", err.text);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "none: no NVIDIA driver; 'device: auto' takes the cpu");
    return false;
}

void tutti_doctor_check_cards(tutti_exam *e)
{
    if (!has_driver(e)) return;
    for (int i = 0; i < TUTTI_CUDA_NLIBRARIES; i++) say_library(e, i);
    const int ncards = tutti_cuda_count_cards();
    const double begin = tutti_clock_s();
    int tried = 0;
    while (tried < ncards && tutti_clock_s() - begin < MOST_S) say_card(e, tried++);
    if (!ncards)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Check nvidia-smi and CUDA_VISIBLE_DEVICES.",
                         "the driver sees no card; 'device: auto' takes the cpu");
    if (tried < ncards)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%d more, which were not opened here", ncards - tried);
}
