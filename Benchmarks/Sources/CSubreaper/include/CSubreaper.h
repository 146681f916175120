#pragma once

/// Makes this process the parent of orphans below it, prctl(2); Swift can't call a function with variable arguments.
int become_subreaper(void);
