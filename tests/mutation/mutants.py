# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of C sources: small changes of one place each, made by rules.

A mutant is what a slip of the programmer could have left: a comparison turned round, a guard that never
fires, a store that is not there, a constant that is off by one. Works on the text, with just enough of
C's grammar to find conditions, statements and operands; what does not compile is dropped later.
"""

import re
from typing import NamedTuple


class Mutant(NamedTuple):
    file: str  # path in the repository
    line: int
    rule: str
    start: int  # the text from here to `end` is replaced
    end: int
    old: str
    new: str
    nth: int = 1  # of those in this file that are the same but for their place

    def name(self):
        """How equivalent.txt and people refer to it: no line number, that changes too often."""
        nth = f" | {self.nth}" if self.nth > 1 else ""
        return squeeze(f"{self.file} | {self.rule} | {self.old} | {self.new}{nth}")


def squeeze(text):
    return " ".join(text.split())


def blank(text, pattern):
    """Spaces in place of what matches, so that offsets stay."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S | re.M)


def code_of(text):
    text = blank(text, r"/\*.*?\*/|//[^\n]*")
    text = blank(text, r'"(?:\\.|[^"\\\n])*"')
    text = blank(text, r"__attribute__\s*\(\([^)]*\)?\)\)|asm volatile\([^;]*\);|_Static_assert[^;]*;")
    return text


def closing(code, start):
    """Offset of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if not depth:
                return at
    return len(code) - 1


def functions(code):
    """(header, start, end) of each function body."""
    code = blank(code, r"^#(?:[^\n]*\\\n)*[^\n]*")
    at = 0
    while (at := code.find("{", at)) >= 0:
        end = closing(code, at)
        header = re.split(r"[;}]", code[:at])[-1].strip()
        if header.endswith(")"):
            yield header, at + 1, end
        at = end + 1


KEYWORDS = r"(?:const|static|struct|enum|union|volatile|void|bool|int|long|char|__u\d+|__s\d+|__be\d+)\b"
# An operand that a mask is applied with.
OPERAND = r"(?:~?[A-Za-z_]\w*(?:\([^()]*\))?|~?0x[0-9a-fA-F]+u?|~?\d+|~?\((?:[^()]|\([^()]*\))*\))"

OPERATORS = [
    ("comparison", r"==", ["!="]),
    ("comparison", r"!=", ["=="]),
    ("comparison", r"<=", ["<", ">"]),
    ("comparison", r">=", [">", "<"]),
    ("comparison", r"(?<![-<])<(?![<=])", ["<=", ">="]),
    ("comparison", r"(?<![->])>(?![>=])", [">=", "<="]),
    ("logic", r"&&", ["||"]),
    ("logic", r"\|\|", ["&&"]),
    ("logic", r"!(?!=)", [""]),
    ("mask", rf"(?<=[\w)\]]) & {OPERAND}", [""]),
    ("mask", r"(?<=[\w)\]] )&(?= )", ["|"]),
    ("mask", r"(?<=[\w)\]] )\|(?= )", ["&"]),
    ("mask", r"~", [""]),
    ("shift", r"<<(?!=)", [">>"]),
    ("shift", r">>(?!=)", ["<<"]),
    ("arithmetic", r"(?<=[\w)\]] )\+(?= )", ["-"]),
    ("arithmetic", r"(?<=[\w)\]] )-(?= )", ["+"]),
    ("arithmetic", r"(?<=[\w)\]] )\^(?= )", ["|"]),
    ("arithmetic", r"(?<=[\w)\]] )\*(?= )", ["+"]),
    ("arithmetic", r"(?<=[\w)\]] )/(?= )", ["*"]),
    ("arithmetic", r"(?<=[\w)\]] )%(?= )", ["/"]),
    ("arithmetic", r"\+=", ["-="]),
    ("arithmetic", r"\^=", ["="]),
    ("mask", r"&=", ["="]),
    ("logic", r"\btrue\b", ["false"]),
    ("logic", r"\bfalse\b", ["true"]),
]

NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?=(?:u|ull)?\b)")

# Races and look-ups that no rule above would think of.
BY_HAND = [
    ("lock.bpf.h", "__sync_val_compare_and_swap((__u64 *)&qp->ctl, seen, seen | CTL_LOCK) == seen",
     "((*(volatile __u64 *)&qp->ctl = seen | CTL_LOCK), true)"),
    ("lock.bpf.h", "__sync_val_compare_and_swap((__u64 *)&qp->ctl, seen, seen | CTL_LOCK) == seen",
     "(*(volatile __u64 *)&qp->ctl == seen && ((*(volatile __u64 *)&qp->ctl = seen | CTL_LOCK), true))"),
    ("execute.bpf.h", "__sync_fetch_and_add(word, swap_add)",
     "({ __u64 was = *(volatile __u64 *)word; *(volatile __u64 *)word = was + swap_add; was; })"),
    ("execute.bpf.h", "__sync_val_compare_and_swap(word, load_be64(&atmeth(p)->compare), swap_add)",
     "({ __u64 was = *(volatile __u64 *)word, now = bpf_ktime_get_ns(); "
     "if (was == load_be64(&atmeth(p)->compare) && now) *(volatile __u64 *)word = swap_add; was; })"),
    ("execute.bpf.h", "load_be64(&atmeth(p)->compare), swap_add)", "swap_add, load_be64(&atmeth(p)->compare))"),
    ("replay.bpf.h", "BPF_NOEXIST", "BPF_EXIST"),
    ("replay.bpf.h", "BPF_NOEXIST", "BPF_ANY"),
]


class Source:
    """One file and its mutants."""

    def __init__(self, file, text):
        self.file = file
        self.text = text
        self.code = code_of(text)
        self.mutants = []
        for header, start, end in functions(self.code):
            self.mutate_function(header, start, end)
        self.mutate_definitions()
        for name, old, new in BY_HAND:
            if file.endswith("/" + name):
                self.by_hand(old, new)

    def add(self, rule, start, end, new):
        old = self.text[start:end]
        if old == new or "\n#" in old:
            return
        line = self.text.count("\n", 0, start) + 1
        self.mutants.append(Mutant(self.file, line, rule, start, end, old, new))

    def by_hand(self, old, new):
        start = self.text.find(old)
        if start < 0:
            raise SystemExit(f"{self.file} has no '{old}' any more: change BY_HAND in mutants.py")
        self.add("by hand", start, start + len(old), new)

    def mutate_function(self, header, start, end):
        for rule, pattern, replacements in OPERATORS:
            for m in re.compile(pattern).finditer(self.code, start, end):
                for new in replacements:
                    self.add_operator(rule, m.start(), m.end(), new)
        for m in NUMBER.finditer(self.code, start, end):
            self.mutate_number(m)
        for m in re.compile(r"\bif \(").finditer(self.code, start, end):
            self.mutate_condition(m.end() - 1)
        for m in re.compile(r" \?").finditer(self.code, start, end):
            self.mutate_choice(m.start(), start)
        for m in re.compile(r"\bcase [^:]*:").finditer(self.code, start, end):
            self.add("case", m.start(), m.end(), "")
        self.mutate_statements(header, start, end)

    def add_operator(self, rule, start, end, new):
        """An operator is shown with what is around it on its line: '<' alone says nothing."""
        first = max(self.text.rfind("\n", 0, start), self.text.rfind("\t", 0, start)) + 1
        last = self.text.find("\n", end)
        self.add(rule, first, last, self.text[first:start] + new + self.text[end:last])

    def mutate_number(self, m):
        value = int(m.group(), 0)
        for new in {value + 1, value - 1} if value else {1}:
            self.add_operator("constant", m.start(), m.end(), hex(new) if "x" in m.group() else str(new))

    def mutate_condition(self, opening):
        end = closing(self.code, opening)
        cond = self.text[opening + 1:end]
        self.add("guard", opening + 1, end, f"0 && ({cond})")
        self.add("guard", opening + 1, end, f"1 || ({cond})")
        self.mutate_leaves(opening + 1, end)

    def mutate_leaves(self, start, end):
        """Takes each operand out of a chain of && or ||."""
        at, depth, leaves = start, 0, []
        for m in re.compile(r"[([{]|[)\]}]|&&|\|\|").finditer(self.code, start, end):
            if m.group() in "([{":
                depth += 1
            elif m.group() in ")]}":
                depth -= 1
            elif not depth:
                leaves.append((at, m.start(), m.group()))
                at = m.end()
        if not leaves:
            return
        leaves.append((at, end, leaves[-1][2]))
        for first, last, joint in leaves:
            neutral = "1" if joint == "&&" else "0"
            self.add("operand", first, last, f" {neutral} /*{self.text[first:last]}*/ ")

    def mutate_choice(self, mark, start):
        """Turns the condition of a ?: round."""
        depth, at = 0, mark
        while at > start:
            at -= 1
            c = self.code[at]
            if c in ")]":
                depth += 1
            elif c in "([":
                if not depth:
                    break
                depth -= 1
            elif not depth and (c in ",;{}:?" or self.code[at - 1:at + 2] == " = " or
                                self.code[at - 5:at + 1] == "return"):
                break
        self.add("choice", at + 1, mark, f" !({self.text[at + 1:mark].strip()})")

    def mutate_statements(self, header, start, end):
        at, depth = start, 0
        for m in re.compile(r"[()]|[;{}]").finditer(self.code, start, end):
            if m.group() == "(":
                depth += 1
            elif m.group() == ")":
                depth -= 1
            elif not depth:
                if m.group() == ";":
                    self.mutate_statement(header, at, m.end())
                at = m.end()

    def mutate_statement(self, header, start, end):
        prefix = re.compile(r"(?:\s+|#[^\n]*\n|else\b|case [^:]*:|default:|(?:if|for|while|switch) (?=\())")
        while m := prefix.match(self.code, start, end):
            start = m.end()
            if self.code[start] == "(" and re.search(r"(?:if|for|while|switch) $", m.group()):
                start = closing(self.code, start) + 1
        statement = self.code[start:end]
        if statement.startswith("return"):
            self.mutate_return(header, start, end)
        elif not re.match(KEYWORDS, statement) and statement != ";" and not statement.startswith("barrier_var"):
            self.add("statement", start, end, ";")

    def mutate_return(self, header, start, end):
        value = self.text[start:end][len("return"):-1].strip()
        if value.startswith("XDP_"):
            self.add("return", start, end, "return XDP_ABORTED;")
        elif "enum xa_reason" in header.split("(")[0]:
            other = "XA_REASON_length" if value == "XA_REASON_busy" else "XA_REASON_busy"
            if value == "GO_ON" or value.startswith("XA_REASON_"):
                self.add("return", start, end, f"return {other};")
            if value != "GO_ON":
                self.add("return", start, end, "return GO_ON;")
        elif "&&" in value or "||" in value:
            self.mutate_leaves(start + len("return"), end - 1)

    def mutate_definitions(self):
        """Constants outside functions: macros, and enumerators with a value."""
        define = r"^#define \w+(?:\(\w+\))?[ \t]+(.*)$"
        enumerator = r"^\t\w+ = ([^,\n]*),|\{ \w+ = ([^,\n]*),"
        for m in re.compile(f"{define}|{enumerator}", re.M).finditer(self.code):
            value = m.lastindex
            if m.group(value).strip().endswith("\\") or self.in_function(m.start()):
                continue
            for number in NUMBER.finditer(self.code, m.start(value), m.end(value)):
                self.mutate_number(number)

    def in_function(self, at):
        return any(start <= at < end for _, start, end in functions(self.code))
