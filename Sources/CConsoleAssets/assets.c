#include "CConsoleAssets.h"

// `#embed` is of C23 (https://www.open-std.org/jtc1/sc22/wg14/www/docs/n3017.htm); clang has it in every mode, as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page[] = {
#embed "page/page.html"
};
static const unsigned char style[] = {
#embed "page/console.css"
};
static const unsigned char icon[] = {
#embed "page/icon.svg"
};
static const unsigned char main_module[] = {
#embed "page/main.js"
};
static const unsigned char store[] = {
#embed "page/store.js"
};
static const unsigned char tree[] = {
#embed "page/tree.js"
};
static const unsigned char detail[] = {
#embed "page/detail.js"
};
static const unsigned char log_module[] = {
#embed "page/log.js"
};
static const unsigned char columns[] = {
#embed "page/columns.js"
};
static const unsigned char route[] = {
#embed "page/route.js"
};
static const unsigned char charts[] = {
#embed "page/charts.js"
};
static const unsigned char events[] = {
#embed "page/events.js"
};
static const unsigned char flows[] = {
#embed "page/flows.js"
};
static const unsigned char staircase[] = {
#embed "page/staircase.js"
};
static const unsigned char actions[] = {
#embed "page/actions.js"
};
static const unsigned char wall[] = {
#embed "page/wall.js"
};
static const unsigned char format[] = {
#embed "page/format.js"
};

static const struct coordinator_console_asset assets[] = {
    {"/", "text/html; charset=utf-8", page, sizeof page},
    {"/console.css", "text/css; charset=utf-8", style, sizeof style},
    {"/icon.svg", "image/svg+xml", icon, sizeof icon},
    {"/main.js", "text/javascript; charset=utf-8", main_module, sizeof main_module},
    {"/store.js", "text/javascript; charset=utf-8", store, sizeof store},
    {"/tree.js", "text/javascript; charset=utf-8", tree, sizeof tree},
    {"/detail.js", "text/javascript; charset=utf-8", detail, sizeof detail},
    {"/log.js", "text/javascript; charset=utf-8", log_module, sizeof log_module},
    {"/columns.js", "text/javascript; charset=utf-8", columns, sizeof columns},
    {"/route.js", "text/javascript; charset=utf-8", route, sizeof route},
    {"/charts.js", "text/javascript; charset=utf-8", charts, sizeof charts},
    {"/events.js", "text/javascript; charset=utf-8", events, sizeof events},
    {"/flows.js", "text/javascript; charset=utf-8", flows, sizeof flows},
    {"/staircase.js", "text/javascript; charset=utf-8", staircase, sizeof staircase},
    {"/actions.js", "text/javascript; charset=utf-8", actions, sizeof actions},
    {"/wall.js", "text/javascript; charset=utf-8", wall, sizeof wall},
    {"/format.js", "text/javascript; charset=utf-8", format, sizeof format},
};

const struct coordinator_console_asset *coordinator_console_assets(size_t *count) {
    *count = sizeof assets / sizeof assets[0];
    return assets;
}
