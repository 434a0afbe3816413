#!/usr/bin/env bash
# Runs the README's two commands as a newcomer does: from an empty clone in a bare root of a distribution, as root and as a
# user with sudo, in a folder with a space in its name. Needs root, debootstrap and a network; takes an hour on two cores.
set -euo pipefail

usage() {
  cat <<'END_OF_USAGE'
usage: tools/fresh.sh [--run] [--container] [--mirror URL] [SUITE...]
  SUITE        a release of the distribution, such as bookworm or trixie (the default)
  --run        tools/run.sh alone, without tools/test.sh
  --container  instead, the steps of tools/container/Containerfile, and a query in what they leave; half an hour
  --mirror     where packages come from; by default the first place that this machine's apt has
The roots are made in build/fresh and kept, without the clones, for the next time. Compilers in them use the folder CCACHE_DIR
of the environment, if it is set.
END_OF_USAGE
}

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly ROOT FRESH=$ROOT/build/fresh
readonly USER_NAME=newcomer

fail() {
  echo "fresh: $*" >&2
  exit 1
}

# bare_root SUITE: makes the root that copies are taken of, in which nothing is but the distribution, git and sudo.
bare_root() {
  local suite=$1 bare=$FRESH/$1.bare
  [[ ! -e $bare ]] || return 0
  echo "fresh: making a root of $suite"
  rm -rf "$bare.unfinished"
  debootstrap --variant=minbase --include=ca-certificates,git,sudo "$suite" "$bare.unfinished" "$mirror" \
    >"$FRESH/$suite.debootstrap.log" 2>&1 || fail "debootstrap failed; see $FRESH/$suite.debootstrap.log"
  # What this machine needs to reach the mirror and PyPI, others that sign for them may need as well.
  cp /etc/resolv.conf "$bare.unfinished/etc/"
  cp -a /etc/ssl/certs/. "$bare.unfinished/etc/ssl/certs/"
  chroot "$bare.unfinished" useradd --create-home "$USER_NAME"
  echo "$USER_NAME ALL=(ALL) NOPASSWD:ALL" >"$bare.unfinished/etc/sudoers.d/$USER_NAME"
  mv "$bare.unfinished" "$bare"
}

# in_root ROOT USER COMMAND: runs a command of bash in a home, with nothing of this machine's environment but what pip
# is told.
in_root() {
  local root=$1 user=$2 home=/root variables=()
  [[ $user == root ]] || home=/home/$user
  [[ -d $root$home ]] || home=/
  mapfile -t variables < <(env | grep -E '^(PIP_|CCACHE_|SSL_CERT_|REQUESTS_CA_BUNDLE|https?_proxy|no_proxy)' || true)
  chroot --userspec="$user" "$root" env -i "HOME=$home" "USER=$user" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${variables[@]}" bash -c "cd '$home' && $3"
}

# Everything below ROOT that is mounted, deepest first.
unmount() { awk -v root="$1/" 'index($2, root) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l; }

# fresh_root SUITE ROOT: makes a copy of a bare root in which programs can run.
fresh_root() {
  local root=$2
  unmount "$root"
  rm -rf "$root"
  cp -a "$FRESH/$1.bare" "$root"
  mounted+=("$root")
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"  # for semaphores of users
  [[ -z ${CCACHE_DIR:-} ]] || { mkdir -p "$root/$CCACHE_DIR" && mount --bind "$CCACHE_DIR" "$root/$CCACHE_DIR"; }
}

remove_root() {
  unmount "$1"
  rm -rf "$1"
}

# try SUITE USER: an empty clone in a fresh root, and the commands in it.
try() {
  local suite=$1 user=$2 root=$FRESH/$1.$2 begun=$SECONDS
  fresh_root "$suite" "$root"
  mkdir "$root/clone" && mount --bind "$ROOT" "$root/clone" && mount -o remount,ro,bind "$root/clone"
  chroot "$root" git config --system safe.directory '*'  # the repository is of another user
  in_root "$root" "$user" "git clone -q /clone 'a clone'"
  for command in "${commands[@]}"; do
    echo "fresh: $suite, $user: $command"
    in_root "$root" "$user" "cd 'a clone' && $command" || fail "$suite, $user: '$command' failed; the root is $root"
  done
  echo "fresh: $suite, $user: passed in $((SECONDS - begun)) s"
  remove_root "$root"
}

# words_of LIST: the words of an instruction's list, as in ["run", "hotels.yaml"].
words_of() { python3 -c 'import json, sys; print(*json.loads(sys.argv[1]))' "$1"; }

# try_container: what a builder does by the Containerfile, with a root for each stage, whose image is a release of Debian.
try_container() {
  local word rest root='' stage=0 user=root folder=/ entry command='' begun=$SECONDS
  while read -r word rest; do
    case $word in
      FROM)
        [[ $rest == docker.io/library/debian:12* ]] || fail "no root is known for the image '$rest'"
        bare_root bookworm
        stage=$((stage + 1)) root=$FRESH/container.$stage
        [[ $rest != *" AS "* ]] || ln -sfn "$root" "$FRESH/container.${rest##* AS }"
        fresh_root bookworm "$root"
        ;;
      COPY)
        local sources=${rest% *} target=$root${rest##* }
        if [[ $sources == . ]]; then
          mkdir -p "$target" && git -C "$ROOT" archive HEAD | tar -x -C "$target"
        elif [[ $sources == --from=* ]]; then
          sources=${sources#--from=}
          mkdir -p "$target" && cp -a "$FRESH/container.${sources%% *}${sources#* }/." "$target"
        else
          cp -a "$ROOT/$sources" "$target"
        fi
        ;;
      RUN)
        echo "fresh: container: $rest"
        in_root "$root" root "cd / && $rest" || fail "container: '$rest' failed; the root is $root"
        ;;
      USER) user=$rest ;;
      WORKDIR) folder=$rest ;;
      ENTRYPOINT) entry=$(words_of "$rest") ;;
      CMD) command=$(words_of "$rest") ;;
      *) fail "container: no way is known to do '$word'" ;;
    esac
  done < <(grep -v '^\(#\|$\)' "$ROOT/tools/container/Containerfile")
  cp "$ROOT"/datasets/examples/hotels.{yaml,csv} "$root$folder"
  for command in "$command" "run hotels.yaml --query good-deals"; do
    echo "fresh: container: $entry $command"
    in_root "$root" "$user" "cd $folder && $entry $command" || fail "container: '$entry $command' failed; the root is $root"
  done
  echo "fresh: container: passed in $((SECONDS - begun)) s, an image of $(du -sxm "$root" | cut -f 1) MB"
  for root in "${mounted[@]}"; do remove_root "$root"; done
  find "$FRESH" -maxdepth 1 -type l -delete
}

commands=("tools/run.sh datasets/examples/hotels.yaml" tools/test.sh)
mirror='' container=false
suites=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --run) commands=("${commands[0]}") ;;
    --container) container=true ;;
    --mirror)
      [[ $# -gt 1 ]] || fail "--mirror needs a URL"
      mirror=$2
      shift
      ;;
    -h | --help) usage; exit ;;
    -*) usage >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done
mounted=()
trap 'for root in "${mounted[@]}"; do unmount "$root"; done' EXIT
[[ $(id -u) == 0 ]] || fail "needs root, for debootstrap and chroot"
[[ $FRESH != *\ * ]] || fail "debootstrap makes no root in a folder with a space in its name, such as '$FRESH'"
command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
[[ -n $mirror ]] || mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
[[ -n $mirror ]] || fail "apt has no place for packages; name one by --mirror"
mkdir -p "$FRESH"
if $container; then
  try_container
  exit
fi
for suite in "${suites[@]:-trixie}"; do
  bare_root "$suite"
  for user in root "$USER_NAME"; do try "$suite" "$user"; done
done
