/** The scripts for shells. Each asks the command line for the words. */

const bash = String.raw`# Completion of everpost for bash.
_everpost() {
  local word prefix='' glued='' last=-1 line=()
  # Bash splits words at "=".
  for word in "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ $last -ge 0 && ( $word == '=' || -n $glued ) ]]; then
      line[last]+=$word
    else
      line+=("$word"); last=$((last + 1))
    fi
    if [[ $word == '=' ]]; then glued=yes; else glued=''; fi
  done
  word=${'$'}{line[last]}
  if [[ $COMP_WORDBREAKS == *=* && $word == *=* ]]; then prefix=${'$'}{word%%=*}=; fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("${'$'}{word#"$prefix"}")
  done < <(everpost completion bash --words -- "${'$'}{line[@]}" 2>/dev/null)
}
complete -o default -F _everpost everpost
`;

const zsh = String.raw`#compdef everpost
# Completion of everpost for zsh.
_everpost() {
  local -a found
  found=("${'$'}{(@f)$(everpost completion zsh --words -- "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${'$'}{found[1]}" ]]; then compadd -- $found; else _files; fi
}
if [[ "$funcstack[1]" = _everpost ]]; then _everpost "$@"; else compdef _everpost everpost; fi
`;

const fish = String.raw`# Completion of everpost for fish.
function __everpost_words
  set -l line (commandline -opc) (commandline -ct)
  everpost completion fish --words -- $line[2..-1] 2>/dev/null
end
complete -c everpost -a '(__everpost_words)'
`;

export const scripts = { bash, zsh, fish } as const;
