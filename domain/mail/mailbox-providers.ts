/**
 * The built-in lists of mail domains. An operator can replace all lists except the first by files.
 */

const domains = (text: string): string[] => text.trim().split(/\s+/);

/**
 * Large providers, the largest first. An address with a misspelling of one of these domains gets a
 * hint. Short names (me.com, aol.com, live.com) are left out, because too many real domains differ
 * from them by one letter.
 */
export const popularDomains: readonly string[] = domains(`
  gmail.com yahoo.com hotmail.com outlook.com icloud.com googlemail.com protonmail.com
  yahoo.co.uk hotmail.co.uk yahoo.fr hotmail.fr yahoo.de hotmail.de yahoo.es hotmail.es yahoo.it
  hotmail.it yahoo.com.br yahoo.co.jp yahoo.co.in yahoo.ca outlook.de outlook.fr rocketmail.com
  comcast.net verizon.net sbcglobal.net bellsouth.net earthlink.net optonline.net btinternet.com
  t-online.de freenet.de orange.fr wanadoo.fr laposte.net libero.it yandex.ru yandex.com
  fastmail.com tutanota.com
`);

/** Domains of free mailboxes, and of mailboxes that belong to a private Internet access. */
export const personalDomains: readonly string[] = domains(`
  ${popularDomains.join(' ')}
  126.com 139.com 163.com 189.cn 1und1.de abv.bg aim.com alice.it aliceadsl.fr aliyun.com aol.com
  aol.co.uk aol.de aol.fr arcor.de att.net bigpond.com bigpond.net.au bk.ru blueyonder.co.uk
  bluewin.ch bol.com.br btopenworld.com centrum.cz chello.at chello.nl charter.net cox.net
  daum.net email.com email.cz email.de email.it eircom.net ewe.net excite.com fastmail.fm
  fastwebnet.it foxmail.com free.fr freemail.hu freeserve.co.uk gmx.at gmx.ch gmx.com gmx.de
  gmx.fr gmx.net gmx.us googlemail.de hanmail.net hey.com home.nl home.se hotmail.at hotmail.be
  hotmail.ca hotmail.ch hotmail.cl hotmail.com.ar hotmail.com.br hotmail.com.mx hotmail.com.tr
  hotmail.dk hotmail.gr hotmail.my hotmail.nl hotmail.no hotmail.se hushmail.com hush.com
  ig.com.br inbox.com inbox.lv inbox.ru interia.pl internode.on.net inwind.it iinet.net.au
  iol.ie iol.it juno.com kabelmail.de keemail.me kpnmail.nl kolumbus.fi lavabit.com list.ru
  live.at live.be live.ca live.cl live.cn live.co.uk live.co.za live.com live.com.ar live.com.au
  live.com.mx live.com.pt live.de live.dk live.fr live.ie live.in live.it live.jp live.nl live.no
  live.se luukku.com lycos.com mac.com mail.bg mail.com mail.de mail.ee mail.ru mailbox.org
  mail.ua mailfence.com me.com msn.com myway.com mweb.co.za nate.com naver.com netcologne.de
  netscape.net neuf.fr ntlworld.com netzero.net nordnet.fr o2.pl o2online.de ok.de onet.eu onet.pl
  online.de online.no openmailbox.org optusnet.com.au orange.net otenet.gr outlook.at outlook.be
  outlook.cl outlook.co.id outlook.com.ar outlook.com.au outlook.com.br outlook.com.tr
  outlook.cz outlook.dk outlook.es outlook.ie outlook.in outlook.it outlook.jp outlook.kr
  outlook.pt outlook.sa ozemail.com.au planet.nl pm.me poczta.onet.pl post.cz posteo.de
  posteo.net posteo.at prodigy.net.mx proton.me protonmail.ch q.com qq.com rambler.ru rediffmail.com
  r7.com rogers.com runbox.com sapo.pt seznam.cz sfr.fr shaw.ca sina.cn sina.com sky.com skynet.be
  sohu.com suddenlink.net sunrise.ch swissonline.ch sympatico.ca talktalk.net telenet.be telia.com
  telus.net terra.com.br terra.es teletu.it tin.it tiscali.co.uk tiscali.it tlen.pl tuta.com
  tuta.io tutamail.com tutanota.de tut.by ukr.net uol.com.br upcmail.nl versatel.nl videotron.ca
  virgilio.it virgin.net virginmedia.com vodafone.it voila.fr vp.pl walla.co.il walla.com web.de
  windowslive.com windstream.net wp.pl xs4all.nl xtra.co.nz ya.ru yahoo.at yahoo.be yahoo.cn
  yahoo.co.id yahoo.co.kr yahoo.co.nz yahoo.co.th yahoo.co.za yahoo.com.ar yahoo.com.au
  yahoo.com.cn yahoo.com.co yahoo.com.hk yahoo.com.mx yahoo.com.my yahoo.com.ph yahoo.com.sg
  yahoo.com.tr yahoo.com.tw yahoo.com.vn yahoo.cz yahoo.dk yahoo.fi yahoo.gr yahoo.hu yahoo.ie
  yahoo.in yahoo.nl yahoo.no yahoo.pl yahoo.pt yahoo.ro yahoo.se yandex.by yandex.kz yandex.ua
  yeah.net ymail.com zeelandnet.nl ziggo.nl zoho.com zoho.eu zoho.in zohomail.com zonnet.nl
`);

/** Domains of forwarding services, which hide the real address. */
export const aliasDomains: readonly string[] = domains(`
  33mail.com 4wrd.cc 8alias.com 8shield.net addy.io aleeas.com anonaddy.com anonaddy.me
  burnermail.io dralias.com duck.com erine.email forwardemail.net hidemail.app
  improvmx.com manyme.com mozmail.com opayq.com passfwd.com passinbox.com passmail.com passmail.net
  privaterelay.appleid.com relay.firefox.com silomails.com simplelogin.co
  simplelogin.com simplelogin.fr simplelogin.io slmail.me slmails.com spamgourmet.com
`);
