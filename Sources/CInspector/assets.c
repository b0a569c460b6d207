#include "CDiamondInspector.h"

#pragma clang diagnostic ignored "-Wc23-extensions"  // #embed

// The compiler includes the bytes of the files: of those in Vendor as their authors made them, and of those in Pages.

static const unsigned char htmx[] = {
#embed "Vendor/htmx.min.js"
};
static const unsigned char htmx_sse[] = {
#embed "Vendor/htmx-sse.min.js"
};
static const unsigned char uplot[] = {
#embed "Vendor/uplot.iife.min.js"
};
static const unsigned char uplot_style[] = {
#embed "Vendor/uplot.min.css"
};
static const unsigned char script[] = {
#embed "Pages/inspector.js"
};
static const unsigned char style[] = {
#embed "Pages/inspector.css"
};
static const unsigned char icon[] = {
#embed "Pages/icon.svg"
};
static const unsigned char layout[] = {
#embed "Pages/layout.mustache"
};
static const unsigned char problem[] = {
#embed "Pages/problem.mustache"
};
static const unsigned char overview[] = {
#embed "Pages/overview.mustache"
};
static const unsigned char overview_figures[] = {
#embed "Pages/overview-figures.mustache"
};
static const unsigned char overview_hours[] = {
#embed "Pages/overview-hours.mustache"
};
static const unsigned char entries[] = {
#embed "Pages/entries.mustache"
};
static const unsigned char entry[] = {
#embed "Pages/entry.mustache"
};
static const unsigned char entry_purge[] = {
#embed "Pages/entry-purge.mustache"
};
static const unsigned char send[] = {
#embed "Pages/send.mustache"
};
static const unsigned char timeline[] = {
#embed "Pages/timeline.mustache"
};
static const unsigned char timeline_rows[] = {
#embed "Pages/timeline-rows.mustache"
};
static const unsigned char queue[] = {
#embed "Pages/queue.mustache"
};
static const unsigned char queue_holds[] = {
#embed "Pages/queue-holds.mustache"
};
static const unsigned char queue_live[] = {
#embed "Pages/queue-live.mustache"
};
static const unsigned char jobs[] = {
#embed "Pages/jobs.mustache"
};
static const unsigned char bulk[] = {
#embed "Pages/bulk.mustache"
};
static const unsigned char job[] = {
#embed "Pages/job.mustache"
};
static const unsigned char job_edit[] = {
#embed "Pages/job-edit.mustache"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}

static const InspectorAsset assets[] = {
    ASSET("htmx.min.js", htmx),
    ASSET("htmx-sse.min.js", htmx_sse),
    ASSET("uplot.iife.min.js", uplot),
    ASSET("uplot.min.css", uplot_style),
    ASSET("inspector.js", script),
    ASSET("inspector.css", style),
    ASSET("icon.svg", icon),
    ASSET("layout.mustache", layout),
    ASSET("problem.mustache", problem),
    ASSET("overview.mustache", overview),
    ASSET("overview-figures.mustache", overview_figures),
    ASSET("overview-hours.mustache", overview_hours),
    ASSET("entries.mustache", entries),
    ASSET("entry.mustache", entry),
    ASSET("entry-purge.mustache", entry_purge),
    ASSET("send.mustache", send),
    ASSET("timeline.mustache", timeline),
    ASSET("timeline-rows.mustache", timeline_rows),
    ASSET("queue.mustache", queue),
    ASSET("queue-holds.mustache", queue_holds),
    ASSET("queue-live.mustache", queue_live),
    ASSET("jobs.mustache", jobs),
    ASSET("bulk.mustache", bulk),
    ASSET("job.mustache", job),
    ASSET("job-edit.mustache", job_edit),
};

InspectorAsset inspector_asset(size_t number) {
    static const InspectorAsset none = {NULL, NULL, 0};
    return number < sizeof assets / sizeof *assets ? assets[number] : none;
}
