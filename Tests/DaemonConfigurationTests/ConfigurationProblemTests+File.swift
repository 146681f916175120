extension ConfigurationProblemTests {
    /// Problems of the whole file and of its YAML.
    static let rowsOfFile: [Row] = [
        Row(
            "an empty file",
            "",
            "f:1:1: the file is empty; expected a mapping with `children`"
        ),
        Row(
            "only a comment",
            "# nothing\n",
            "f:1:1: the file is empty; expected a mapping with `children`"
        ),
        Row(
            "a text",
            "hello\n",
            "f:1:1: the file is `hello`; expected a mapping with `children`, `supervision`, `orphan_grace`, `operators`, `logging`, `observability` or others"
        ),
        Row(
            "a list",
            "- a\n",
            "f:1:1: the file is a list; expected a mapping with `children`, `supervision`, `orphan_grace`, `operators`, `logging`, `observability` or others"
        ),
        Row(
            "no children",
            "supervision: {}\n",
            "f:1:1: the file has no `children`; expected the list of what the daemon keeps alive (`children: []` for nothing)"
        ),
        Row(
            "an unknown key at the top",
            "childern: []\n",
            "f:1:1: unknown key `childern` in the file; did you mean `children`?"
        ),
        Row(
            "an unknown key that is near nothing",
            "children: []\ncolour: red\n",
            "f:2:1: unknown key `colour` in the file; expected one of `children`, `supervision`, `orphan_grace`, `operators`, `logging`, `observability`, `cluster`, `include`, `defaults`"
        ),
        Row(
            "operators without a group",
            "children: []\noperators: { role: observe }\n",
            "f:2:12: `operators` has no `group`; expected the name or the number of a group"
        ),
        Row(
            "operators of an unknown role",
            "children: []\noperators: [{ group: a, role: admin }, root]\n",
            "f:2:31: `role` is `admin`; expected one of `observe`, `operate`, `administer`",
            "f:2:40: an item of `operators` is `root`; expected a mapping with `group`, `role`"
        ),
        Row(
            "the other spelling of a key",
            "children: []\norphanGrace: 5s\n",
            "f:2:1: unknown key `orphanGrace` in the file; did you mean `orphan_grace`?"
        ),
        Row(
            "a mapping that isn't closed",
            "children: [\n  { name: a\n",
            "f:3:1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping that begins at line 2, column 3; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "a tab as indentation",
            "children:\n\t- name: a\n",
            "f:2:1: not valid YAML: found character that cannot start any token while scanning for the next token that begins at line 2, column 1; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "a wrong indentation",
            "children:\n  - name: a\n   program: x\n",
            "f:3:4: not valid YAML: did not find expected '-' indicator while parsing a block collection that begins at line 2, column 3; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "a quote that isn't closed",
            "children:\n  - name: 'a\n",
            "f:3:1: not valid YAML: found unexpected end of stream while scanning a quoted scalar that begins at line 2, column 11; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "a colon too many",
            "children: a: b\n",
            "f:1:12: not valid YAML: mapping values are not allowed in this context; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "an escape that YAML doesn't have",
            "children: \"\\q\"\n",
            "f:1:12: not valid YAML: found unknown escape character while parsing a quoted scalar that begins at line 1, column 11; expected YAML 1.2 (look at indentation, quotes and brackets)"
        ),
        Row(
            "one key twice in one mapping",
            "children: []\norphan_grace: 1s\norphan_grace: 2s\n",
            "f:3:1: the key `orphan_grace` is given more than once in one mapping; expected each key once"
        ),
        Row(
            "an alias without its anchor",
            "children: *nobody\n",
            "f:1:11: not valid YAML: found undefined alias; expected an alias (`*name`) to follow its anchor (`&name`)"
        ),
        Row(
            "two documents",
            "children: []\n---\nchildren: []\n",
            "f:2:1: a second YAML document begins here; expected one document in the file"
        ),
        Row(
            "a tag of one's own",
            "children: !include other.yaml\n",
            "f:1:11: the tag `!include` isn't supported; expected plain YAML",
            "f:1:11: `children` is `other.yaml`; expected a list, each item with `name` and `worker` or `program`"
        ),
        Row(
            "a standard tag that isn't read",
            "children: !!set {}\n",
            "f:1:11: the tag `!!set` isn't supported; expected plain YAML",
            "f:1:11: `children` is a mapping; expected a list, each item with `name` and `worker` or `program`"
        ),
        Row(
            "a merge key",
            "children:\n  - <<: { name: a }\n    program: { command: [cat] }\n",
            "f:2:5: merge keys (`<<`) aren't supported; expected the values to be written out, or an alias"
        ),
        Row(
            "NUL in the file",
            "children: []\n# a\u{0}b\n",
            "f:2:4: the character U+0000 isn't allowed in YAML; expected printable text (write it as an escape in double quotes)"
        ),
        Row(
            "another control character",
            "children: []\nx: \u{1B}[0m\n",
            "f:2:4: the character U+001B isn't allowed in YAML; expected printable text (write it as an escape in double quotes)"
        ),
        Row(
            "an escaped NUL",
            "children:\n  - name: a\n    program: { command: [cat, \"a\\0b\"] }\n",
            "f:3:31: the text contains NUL; expected a text without `\\0`"
        ),
        Row(
            "columns are counted in Unicode scalars",
            "children: [{ name: \"äöü\", program: { command: [] } }]\n",
            "f:1:47: `command` is an empty list; expected a list of the program and its arguments, such as [python3, mailer.py]"
        ),
        Row(
            "a key that isn't a name",
            "children: []\n? [a]\n: b\n",
            "f:2:3: a key of the file is a list; expected a name"
        ),
    ]
}
