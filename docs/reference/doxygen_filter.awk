# Doxygen's view of a header: the comment at the top describes the file, a comment behind a member that member. An angle
# bracket in a sentence is no HTML.
function prose(line) {
    if (line ~ /^ *\/\/\/ [^ ]/ && line !~ /`/) gsub(/</, "\\<", line)
    return line
}
NR == 1 && /^\/\// { print "/// @file"; top = 1 }
top && /^\/\// { sub(/^\/\//, "///"); print prose($0); next }
{ top = 0 }
/^ +[^\/ ].*[;,{}a-z0-9)] +\/\/ [^-]/ { sub(/ +\/\/ /, "  ///< ") }
{ print prose($0) }
