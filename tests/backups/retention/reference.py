"""The rule of retention, written a second time: slowly, one archive at a time, from what the document promises."""

from datetime import timedelta

from backups.retention.archives import State, Trigger


def verdicts(archives, plan, *, scope, target, zone, now):
    """(id -> set of words, ids that expire in their order)."""

    def ours(a):
        return a.state is not State.FOREIGN and a.scope == scope and a.target == target

    def good(a):
        return ours(a) and a.state is State.COMPLETE and a.verified

    def found(name):
        return next((a for a in archives if a.id == name), None)

    def sound(a):
        for _ in range(len(archives) + 1):
            if a is None or not good(a):
                return False
            if a.parent is None:
                return True
            a = found(a.parent)
        return False

    def newer(a, b):
        return (a.start, a.id) > (b.start, b.id)

    def local(a):
        naive = a.start.replace(tzinfo=None) - a.start.utcoffset()
        return (naive + a.start.astimezone(zone).utcoffset()).date()

    def week(a):
        thursday = local(a) + timedelta(days=3 - local(a).weekday())
        return thursday.year, (thursday.timetuple().tm_yday - 1) // 7 + 1

    def generations(rivals):
        words = {}
        for a in rivals:
            ahead = [b for b in rivals if newer(b, a)]
            mine = []
            if len(ahead) < plan.keep_last:
                mine.append(f"last {len(ahead) + 1} of {plan.keep_last}")
            for count, period, say in (
                (plan.keep_daily, local, lambda p: f"the day {p.isoformat()}"),
                (plan.keep_weekly, week, lambda p: f"ISO week {p[1]} of {p[0]}"),
                (plan.keep_monthly, lambda b: local(b).isoformat()[:7], lambda p: f"the month {p}"),
                (plan.keep_yearly, lambda b: local(b).isoformat()[:4], lambda p: f"the year {p}"),
            ):
                before = {period(b) for b in ahead}
                if period(a) not in before and len(before) < count:
                    mine.append(say(period(a)))
            if mine:
                words[a.id] = mine
        rest = sorted((a for a in rivals if a.id not in words), key=lambda a: (a.start, a.id))
        while len(words) < plan.min_keep and rest:
            words[rest.pop().id] = [f"floor: at least {plan.min_keep} stay"]
        return words

    def pin(a):
        pins = [a.pinned_until] if a.pinned_until else []
        if a.trigger in (Trigger.MANUAL, Trigger.PRE_RESTORE):
            pins.append(a.start + timedelta(days=30))
        return max(pins, default=None)

    planned = [a for a in archives if good(a) and a.start <= now]
    of_sound = generations([a for a in planned if sound(a)])
    of_all = generations(planned)
    stays = {}
    for a in archives:
        mine = set()
        if a.state is State.FOREIGN:
            mine.add("foreign: never touched")
        elif a.target != target:
            mine.add("at another target: never touched")
        elif a.scope != scope:
            mine.add("of another scope: never touched")
        elif a.state is not State.COMPLETE:
            mine.add(f"{a.state.value}: never touched")
        elif not a.verified:
            mine.add("not verified: counts for nothing, never touched")
        elif a.start > now:
            mine.add("started later than now: counts for nothing until then, not touched")
        else:
            mine.update(of_sound.get(a.id, ()))
            if not sound(a) and a.id in of_all:
                mine.add(
                    "not all its parents are here and verified: counts for nothing, stays its time"
                )
            if pin(a) is not None and now < pin(a):
                until = pin(a).astimezone(zone).isoformat(sep=" ", timespec="minutes")
                mine.add(f"pinned until {until}")
        if mine:
            stays[a.id] = mine
    while True:
        owed = {
            (a.parent, f"parent of {a.id}")
            for a in archives
            if a.id in stays and a.state is not State.FAILED and found(a.parent) is not None
        }
        new = [(p, words) for p, words in owed if words not in stays.get(p, ())]
        if not new:
            break
        for p, words in new:
            stays.setdefault(p, set()).add(words)
    gone = sorted((a for a in archives if a.id not in stays), key=lambda a: (a.start, a.id))
    return stays, [a.id for a in gone]
